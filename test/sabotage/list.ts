import { AGENT } from './list/agent.ts';
import { AUDITS } from './list/audits.ts';
import { BESIDE } from './list/beside.ts';
import { BOOKS } from './list/books.ts';
import { CHAIN } from './list/chain.ts';
import { DIRECT } from './list/direct.ts';
import { FILES } from './list/files.ts';
import { HISTORY } from './list/history.ts';
import { LOCKS } from './list/locks.ts';
import { RECORDS } from './list/records.ts';
import { REVIEWS } from './list/reviews.ts';
import { UNPROVEN } from './list/unproven.ts';
import { CLAIM_VERDICTS } from './list/verdicts-claims.ts';
import { X402_VERDICTS } from './list/verdicts-x402.ts';
import { WORLD } from './list/world.ts';
import { X402 } from './list/x402.ts';
import type { Sabotage } from './sabotage.ts';

/**
 * All bugs: one for each promise about money and for each edge case. Bugs that change nothing are excluded, because no test could notice
 * them.
 */
export const SABOTAGES: readonly Sabotage[] = [
  ...BOOKS,
  ...X402_VERDICTS,
  ...CLAIM_VERDICTS,
  ...X402,
  ...DIRECT,
  ...BESIDE,
  ...CHAIN,
  ...REVIEWS,
  ...UNPROVEN,
  ...RECORDS,
  ...HISTORY,
  ...LOCKS,
  ...WORLD,
  ...AGENT,
  ...AUDITS,
  ...FILES,
];
