import { runTogether } from '../support/kill-flows.ts';
import {
  buyDirectly,
  claimDirectly,
  decideReview,
  deliverClaimUnasked,
  listByTransfer,
  listUploadByTransfer,
} from '../support/kill-flows-direct.ts';
import { at, testKillPoints } from '../support/kill-runs.ts';

const INTENT = [
  { name: 'before an intent is stored', at: at('database', 'before', 'insert into payment_intents') },
  { name: 'after an intent was stored', at: at('database', 'after', 'insert into payment_intents') },
] as const;

const CLAIM = [
  { name: 'before a claim is stored', at: at('database', 'before', 'insert into payments') },
  { name: 'before its transaction is named', at: at('database', 'before', 'insert into claim_hashes') },
  { name: 'after its transaction was named', at: at('database', 'after', 'insert into claim_hashes') },
  { name: 'after a claim was committed, by itself', at: 'after_claim_committed' },
  { name: 'while its receipt is read', at: at('chain', 'after', 'eth_getTransactionReceipt') },
  { name: 'before the delivery, by itself', at: 'after_final_before_delivery' },
  { name: 'before the proof is stored', at: at('database', 'before', 'insert into payment_proofs') },
  { name: 'after the purchase was committed', at: at('database', 'after', 'insert into purchases') },
  { name: 'before the answer, by itself', at: 'after_commit_before_answer' },
] as const;

const FEE = [
  { name: 'after a fee’s intent was stored', at: at('database', 'after', 'insert into payment_intents') },
  { name: 'before a fee’s transaction is named', at: at('database', 'before', 'insert into claim_hashes') },
  { name: 'after a fee’s transaction was named', at: at('database', 'after', 'insert into claim_hashes') },
  { name: 'before the fee is booked', at: at('database', 'before', 'insert into fees') },
  { name: 'after the fee was booked', at: at('database', 'after', 'insert into fees') },
] as const;

const UPLOAD = [
  { name: 'after an upload was held for a transfer', at: at('database', 'after', 'update uploads set payment_id') },
  { name: 'before an upload is listed by a transfer', at: at('database', 'before', 'update uploads set listing_id') },
] as const;

testKillPoints(import.meta.filename, 'kill -9 under direct payment', [
  ...INTENT.map((point) => ({ ...point, flow: buyDirectly })),
  ...CLAIM.map((point) => ({ ...point, flow: claimDirectly })),
  {
    name: 'with all evidence of four claims, by itself',
    flow: runTogether(claimDirectly, 4),
    at: 'after_evidence_gathered',
  },
  {
    name: 'before the background delivers a claim',
    flow: deliverClaimUnasked,
    at: at('database', 'before', 'insert into purchases'),
  },
  {
    name: 'with a claim final, in the background, by itself',
    flow: deliverClaimUnasked,
    at: 'after_final_before_delivery',
  },
  ...FEE.map((point) => ({ ...point, flow: listByTransfer })),
  ...UPLOAD.map((point) => ({ ...point, flow: listUploadByTransfer })),
  { name: 'before a review is decided', flow: decideReview, at: at('database', 'before', 'review_outcome = $') },
  { name: 'after a review was decided', flow: decideReview, at: at('database', 'after', 'review_outcome = $') },
]);
