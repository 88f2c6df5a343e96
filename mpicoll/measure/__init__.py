"""How a time is taken: cases with known results, timing, statistics, records, reports and plots."""
