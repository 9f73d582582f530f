import { editListing, listFree, registerMerchant, voteForListing, withdrawListing } from '../support/kill-flows.ts';
import { at, testKillPoints } from '../support/kill-runs.ts';

const REGISTER = [
  { name: 'before the stage is stored', at: at('database', 'before', 'insert into identity_stages') },
  { name: 'after the stage was stored', at: at('database', 'after', 'insert into identity_stages') },
  { name: 'before the merchant is made', at: at('database', 'before', 'insert into merchants') },
  { name: 'before its codes are stored', at: at('database', 'before', 'insert into recovery_codes') },
  { name: 'after the merchant was made', at: at('database', 'after', 'insert into merchants') },
] as const;

testKillPoints(import.meta.filename, 'kill -9 under what costs nothing', [
  ...REGISTER.map((point) => ({ ...point, flow: registerMerchant })),
  { name: 'before an edit', flow: editListing, at: at('database', 'before', 'update listings set text_flags') },
  { name: 'after an edit', flow: editListing, at: at('database', 'after', 'update listings set text_flags') },
  { name: 'before a withdrawal', flow: withdrawListing, at: at('database', 'before', "set state = 'withdrawn'") },
  { name: 'after a withdrawal', flow: withdrawListing, at: at('database', 'after', "set state = 'withdrawn'") },
  { name: 'before a vote', flow: voteForListing, at: at('database', 'before', 'insert into votes') },
  { name: 'after a vote', flow: voteForListing, at: at('database', 'after', 'insert into votes') },
  { name: 'before a free listing', flow: listFree, at: at('database', 'before', 'insert into artifacts') },
  { name: 'after a free listing', flow: listFree, at: at('database', 'after', 'insert into artifacts') },
  { name: 'before an event is numbered', flow: editListing, at: at('database', 'before', 'update events set id') },
  { name: 'after an event was numbered', flow: editListing, at: at('database', 'after', 'update events set id') },
]);
