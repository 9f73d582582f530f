import { type Sabotage, world } from '../sabotage.ts';

// Not tested here: that the code does not lower the watermark, because the trigger tested below refuses it; and that a head of another
// chain is ignored, because the check of a proof and both verdicts, which are tested elsewhere, check the chain id again.

const HEAD = 'src/platform/chain/accept-head.ts';
const JUDGE = 'src/market/payments/chain/corroborate.ts';
const UNIT = ['src/platform/chain/accept-head.test.ts'];

function bug(name: string, file: string, find: string, put: string, tests: readonly string[]): Sabotage {
  return { name, edits: [{ file, find, put }], tests };
}

/** Bugs in finality, in the providers that report it, and in ignoring wrong reports. */
export const CHAIN: readonly Sabotage[] = [
  bug('finality-a-second-too-young', HEAD, '> now - minAgeSeconds * 1000', '> now - minAgeSeconds * 1000 + 1000', UNIT),
  bug(
    'finality-age-edge',
    HEAD,
    '> now - minAgeSeconds * 1000',
    '>= now - minAgeSeconds * 1000',
    world('finality-edges'),
  ),
  bug(
    'final-beyond-the-latest',
    HEAD,
    "if (finalized.number > latest.number) return { implausible: 'beyond_latest' };",
    '',
    UNIT,
  ),
  bug(
    'final-of-another-chain-by-number',
    HEAD,
    'reread === null || reread.hash !== finalized.hash',
    'reread === null',
    UNIT,
  ),
  bug(
    'final-newer-than-the-clock',
    HEAD,
    "if (Number(finalized.timestamp) * 1000 > now) return { implausible: 'newer_than_clock' };",
    '',
    UNIT,
  ),
  bug(
    'watermark-contradicted-is-believed',
    HEAD,
    'reading.atWatermark === null || reading.atWatermark.hash !== watermark.hash',
    'reading.atWatermark === null',
    [...UNIT, ...world('reorg')],
  ),
  bug(
    'watermark-follows-a-lagging-tag',
    HEAD,
    'if (finalized.number < watermark.number) return { accepted: watermark };',
    '',
    UNIT,
  ),
  bug(
    'watermark-outruns-time',
    HEAD,
    "if (minAgeSeconds > 0 && isFasterThanClock(finalized, watermark, now)) return { unknown: 'outruns_time' };",
    '',
    UNIT,
  ),
  bug(
    'watermark-goes-back',
    'migrations/market/0007-two-providers.sql',
    'if not goes_back and new.resets',
    'if new.resets',
    [...world('two-providers-halt'), 'src/market/payments/chain/store.test.ts'],
  ),
  bug(
    'final-block-not-looked-at-again',
    'src/platform/chain/sighting.ts',
    'return again?.hash === head.finalized.hash;',
    'return again !== null;',
    world('final-reread'),
  ),
  bug(
    'two-final-blocks-are-no-conflict',
    'src/market/payments/chain/watch-providers.ts',
    'oneBlock.hash !== otherBlock.hash',
    'oneBlock.hash === otherBlock.hash && number < 0n',
    world('two-providers-halt'),
  ),
  bug(
    'second-provider-is-not-heard',
    'src/market/payments/chain/corroborate.ts',
    'const finals = isAlone ? [] : findFinalUses(payments, gathered);',
    'const finals = findFinalUses(payments, gathered).slice(0, 0);',
    world('two-providers'),
  ),
  bug(
    'second-provider-may-show-another-transfer',
    JUDGE,
    '&& sameMined(terms.asset, use, finding.use) ? null',
    '? null',
    ['src/market/payments/chain/judge-evidence.test.ts', ...world('two-providers')],
  ),
  bug(
    'second-provider-may-show-a-use',
    JUDGE,
    "? 'behind' : 'disagrees';\n  if (said.latest.timestamp",
    "? 'behind' : null;\n  if (said.latest.timestamp",
    ['src/market/payments/chain/judge-evidence.test.ts'],
  ),
  bug(
    'a-payment-ends-while-halted',
    'src/market/payments/paths/x402/end-payment.ts',
    ' || (await isHalted(tx, locked.chainId))',
    '',
    world('two-providers-halt'),
  ),
  bug(
    'a-proof-is-driven-while-halted',
    'src/market/payments/paths/x402/drive-payment.ts',
    "  if (row.isHalted) return { current: payment, refusal: payment.status === 'verifying' ? haltedRefusal() : null };\n",
    '',
    world('two-providers-halt'),
  ),
  bug(
    'a-vanished-transfer-stays-noted',
    'src/market/payments/paths/x402/end-payment.ts',
    'return await noteSeen(market, payment, decision.sighting, now);',
    'return decision.sighting === null ? payment : await noteSeen(market, payment, decision.sighting, now);',
    world('reorg'),
  ),
  bug(
    'a-reorganisation-is-not-noticed',
    'src/market/payments/chain/read-head.ts',
    'return reread?.hash === hash;',
    'return true;',
    world('background-pass'),
  ),
  bug(
    'what-was-read-before-a-reorganisation-is-believed',
    'src/market/payments/read-and-decide.ts',
    'before?.reorgCount !== head.reorgCount || ',
    'before === undefined || ',
    world('background-pass'),
  ),
  bug(
    'an-error-of-one-call-fails-the-batch',
    'src/platform/chain/rpc-batch.ts',
    'if (answer instanceof RpcFailure) settled.reject(answer);',
    'if (answer instanceof RpcFailure) throw answer;',
    ['src/platform/chain/rpc.test.ts'],
  ),
  bug(
    'a-payment-close-to-final-is-left-alone',
    'src/market/payments/chain/read-schedule.ts',
    'return Math.min(byNumber, byTime)',
    'return Math.max(byNumber, byTime)',
    ['src/market/payments/chain/read-schedule.test.ts'],
  ),
  bug(
    'a-proof-drives-a-payment-of-another-chain',
    'src/market/payments/paths/x402/drive-payment.ts',
    ' || payment.chainId !== market.config.network.chainId',
    '',
    world('another-chain'),
  ),
  bug(
    'goods-of-another-chain-are-sold',
    'src/market/listings/check-goods.ts',
    '(chainId === null || chainId === network.chainId)',
    '(true)',
    world('another-chain'),
  ),
];
