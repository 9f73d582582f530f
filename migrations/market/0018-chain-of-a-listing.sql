-- A listing names its chain, as a payment does: its wallet is an address there. A market that moves to another network sells none of it.
-- Null where nothing says which chain it was, and in rows of the version before: then it is that of the network of the market.
alter table listings add column chain_id bigint;

create or replace function listing_terms_are_fixed() returns trigger language plpgsql as $$
begin
  if new.id <> old.id or new.merchant_id <> old.merchant_id or new.price_units <> old.price_units
     or new.seller_wallet <> old.seller_wallet or new.created_at <> old.created_at
     or new.fee_id is distinct from old.fee_id or new.body_hash <> old.body_hash
     or new.supersedes is distinct from old.supersedes or new.entitles_previous_buyers <> old.entitles_previous_buyers
     or (old.chain_id is not null and new.chain_id is distinct from old.chain_id) then
    raise exception 'price, wallet and origin of a listing never change'
      using errcode = 'restrict_violation', constraint = 'listing_terms_are_fixed';
  end if;
  return new;
end $$;

-- concurrently
-- What the fill looks for, and hardly anything after it.
create index concurrently listings_without_chain on listings (id) where chain_id is null;

-- fill: chain-of-listings
-- By the payment of its fee; one without a fee by the only chain that this market has ever read.
update listings set chain_id = told.chain_id
from (
  select l.id, coalesce(p.chain_id, known.chain_id) as chain_id
  from listings l
    left join fees f on f.id = l.fee_id
    left join payments p on p.id = f.payment_id
    left join (select min(chain_id) as chain_id from chain_watermarks having count(*) = 1) known on true
  where l.chain_id is null and coalesce(p.chain_id, known.chain_id) is not null
  order by l.id limit 500
) told
where told.id = listings.id;
