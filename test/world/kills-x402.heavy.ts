import { runTogether } from '../support/kill-flows.ts';
import { buyByX402, deliverUnasked } from '../support/kill-flows-x402.ts';
import { at, testKillPoints } from '../support/kill-runs.ts';

/** Kill points in the order of a purchase. */
const PURCHASE = [
  { name: 'before a purchase’s payment is stored', at: at('database', 'before', 'insert into payments') },
  { name: 'after a purchase’s payment was stored', at: at('database', 'after', 'insert into payments') },
  { name: 'before verify, by itself', at: 'before_verify' },
  { name: 'before verify is asked', at: at('facilitator', 'before', '/verify') },
  { name: 'after verify said yes', at: at('facilitator', 'after', '/verify') },
  { name: 'before settling is committed', at: at('database', 'before', "set status = 'settling'") },
  { name: 'after settling was committed', at: at('database', 'after', "set status = 'settling'") },
  { name: 'before settle, by itself', at: 'after_settling_committed' },
  { name: 'before settle is asked', at: at('facilitator', 'before', '/settle') },
  { name: 'after settle was done', at: at('facilitator', 'after', '/settle') },
  { name: 'after settle, by itself', at: 'after_settle_before_answer' },
  { name: 'while the chain is looked through', at: at('chain', 'after', 'eth_getLogs') },
  { name: 'before the sighting is stored', at: at('database', 'before', 'update payments set tx_hash') },
  { name: 'after the sighting was stored', at: at('database', 'after', 'update payments set tx_hash') },
  { name: 'before the delivery, by itself', at: 'after_final_before_delivery' },
  { name: 'before the proof is stored', at: at('database', 'before', 'insert into payment_proofs') },
  { name: 'before the payment is completed', at: at('database', 'before', 'update payments set status = $1') },
  { name: 'after the purchase was committed', at: at('database', 'after', 'insert into purchases') },
  { name: 'before the answer, by itself', at: 'after_commit_before_answer' },
] as const;

/** One chain read serves all pending payments, so several must be pending when the market is killed there. */
const buyMany = runTogether(buyByX402, 4);
const deliverMany = runTogether(deliverUnasked, 4);
const READING = [
  { name: 'with a head and nothing else read, by itself', flow: buyMany, at: 'after_head_read' },
  { name: 'with all evidence and nothing noted, by itself', flow: buyMany, at: 'after_evidence_gathered' },
  { name: 'with all evidence in the background, by itself', flow: deliverMany, at: 'after_evidence_gathered' },
  { name: 'with a higher watermark in the background, by itself', flow: deliverMany, at: 'after_watermark_raised' },
] as const;

testKillPoints(import.meta.filename, 'kill -9 under a purchase by x402', [
  ...PURCHASE.map((point) => ({ ...point, flow: buyByX402 })),
  ...READING,
  {
    name: 'while the background reads receipts',
    flow: deliverUnasked,
    at: at('chain', 'after', 'eth_getTransactionReceipt'),
  },
  {
    name: 'before the background delivers',
    flow: deliverUnasked,
    at: at('database', 'before', 'insert into purchases'),
  },
  {
    name: 'after the background delivered',
    flow: deliverUnasked,
    at: at('database', 'after', 'insert into purchases'),
  },
]);
