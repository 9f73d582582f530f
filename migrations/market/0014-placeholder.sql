-- Held for another change.
select 1;
