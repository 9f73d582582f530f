-- By which rule a shape was made: 1 counts all words, 2 leaves out what stands in common licences. The market makes older ones again by
-- itself, since words are split by its code. The version before writes 1.
alter table artifact_shapes add column rule int2 not null default 1;

-- concurrently
create index concurrently artifact_shapes_of_first_rule on artifact_shapes (listing_id) where rule = 1;
