import { listByX402, listUnasked, listUploadByX402 } from '../support/kill-flows-x402.ts';
import { at, testKillPoints } from '../support/kill-runs.ts';

const FEE = [
  { name: 'before a fee’s goods are stored', at: at('database', 'before', 'insert into pending_listings') },
  { name: 'after a fee’s goods were stored', at: at('database', 'after', 'insert into pending_listings') },
  { name: 'before verify of a fee', at: at('facilitator', 'before', '/verify') },
  { name: 'after verify of a fee', at: at('facilitator', 'after', '/verify') },
  { name: 'before settle of a fee', at: at('facilitator', 'before', '/settle') },
  { name: 'after settle of a fee', at: at('facilitator', 'after', '/settle') },
  { name: 'before the fee is booked', at: at('database', 'before', 'insert into fees') },
  { name: 'before its goods go live', at: at('database', 'before', 'insert into artifacts') },
  { name: 'after its goods went live', at: at('database', 'after', 'insert into artifacts') },
  { name: 'after the answer was noted', at: at('database', 'after', 'insert into listing_answers') },
] as const;

const UPLOAD = [
  { name: 'before an upload is held', at: at('database', 'before', 'update uploads set payment_id') },
  { name: 'after an upload was held', at: at('database', 'after', 'update uploads set payment_id') },
  { name: 'before an upload is listed', at: at('database', 'before', 'update uploads set listing_id') },
  { name: 'after an upload was listed', at: at('database', 'after', 'update uploads set listing_id') },
  { name: 'after settle of a fee for an upload', at: at('facilitator', 'after', '/settle') },
] as const;

testKillPoints(import.meta.filename, 'kill -9 under a listing fee by x402', [
  ...FEE.map((point) => ({ ...point, flow: listByX402 })),
  ...UPLOAD.map((point) => ({ ...point, flow: listUploadByX402 })),
  { name: 'before the background books a fee', flow: listUnasked, at: at('database', 'before', 'insert into fees') },
  { name: 'after the background booked a fee', flow: listUnasked, at: at('database', 'after', 'insert into fees') },
]);
