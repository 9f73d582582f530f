-- compatible: older code
-- Under which license goods come. What is not said, and what the version before writes, is null.
alter table listings add column license text;

-- A purchase names its listing and no more. So what is said in an attribute stays once there is a purchase, which shows it as it stood at
-- the sale. A further attribute: its column, and its name in the condition of the trigger.
create function attributes_are_fixed() returns trigger language plpgsql as $$
begin
  if exists (select from purchases where listing_id = old.id) then
    raise exception 'a listing with a buyer keeps what was said of its goods'
      using errcode = 'restrict_violation', constraint = 'attributes_are_fixed';
  end if;
  return new;
end $$;
create trigger attributes_are_fixed before update on listings for each row
  when (new.license is distinct from old.license) execute function attributes_are_fixed();
