import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Block, Log, Receipt } from '../../../../platform/chain/reads.ts';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  TRANSFER_TOPIC,
} from '../../../../platform/chain/usdc.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { type AttemptTerms, decide, type Evidence, type Use } from './decide.ts';

const word = (digit: string): Hex => `0x${digit.repeat(64)}`;
const wallet = (digit: string): Hex => `0x${digit.repeat(40)}`;
const USDC = wallet('a');
const PAYER = wallet('1');
const PAYEE = wallet('2');
const NONCE = word('7');
const TX = word('c');
const BLOCK = word('b');
const TIME = 1_800_000_000n;

const terms: AttemptTerms = {
  chainId: 8453n,
  asset: USDC,
  payer: PAYER,
  payee: PAYEE,
  valueUnits: 2_500_000n,
  nonce: NONCE,
  validBefore: TIME + 60n,
  openedBlock: 90n,
  mayBeSubmitted: true,
  removedAt: null,
  isStopped: false,
};

function log(logIndex: number, topics: Hex[], data: Hex, changes: Partial<Log> = {}): Log {
  const place = { blockNumber: 100n, blockHash: BLOCK, transactionHash: TX, removed: false };
  return { address: USDC, topics, data, logIndex, ...place, ...changes };
}
const valueData = (units: bigint): Hex => `0x${units.toString(16).padStart(64, '0')}`;
const usedLog = (changes: Partial<Log> = {}) =>
  log(3, [AUTHORIZATION_USED_TOPIC, addressTopic(PAYER), NONCE], '0x', changes);
const transferLog = (changes: Partial<Log> & { from?: Hex; to?: Hex; units?: bigint } = {}) => {
  const { from = PAYER, to = PAYEE, units = 2_500_000n, ...rest } = changes;
  return log(4, [TRANSFER_TOPIC, addressTopic(from), addressTopic(to)], valueData(units), rest);
};

interface Changes {
  evidence?: Partial<Evidence>;
  use?: Partial<Use>;
  receipt?: Partial<Receipt>;
  block?: Partial<Block>;
  /** Logs of the receipt. A query for the block's logs returns the same ones. */
  logs?: Log[];
}

function evidence(changes: Changes = {}): Evidence {
  const logs = changes.logs ?? [usedLog(), transferLog()];
  const [first] = logs;
  const receipt: Receipt = {
    transactionHash: TX,
    blockNumber: 100n,
    blockHash: BLOCK,
    status: 'success',
    from: wallet('f'),
    to: USDC,
    logs,
    ...changes.receipt,
  };
  const block: Block = {
    number: 100n,
    hash: BLOCK,
    parentHash: word('0'),
    timestamp: TIME,
    transactions: [TX],
    ...changes.block,
  };
  const transfersInBlock = logs.filter((entry) => entry.topics[0] === TRANSFER_TOPIC && entry.address === USDC);
  return {
    chainId: 8453n,
    latest: { number: 120n, timestamp: TIME + 40n },
    finalized: { number: 110n, hash: word('d'), timestamp: TIME + 20n },
    nonceUsed: null,
    use: { log: first ?? usedLog(), receipt, block, transfersInBlock, ...changes.use },
    ...changes.evidence,
  };
}

const absent = (changes: Partial<Evidence> = {}): Evidence => ({
  ...evidence(),
  use: null,
  nonceUsed: false,
  ...changes,
});

describe('a settled payment', () => {
  it('is one whose fitting transfer is final, in a block after the opening', () => {
    expect(decide(evidence(), terms)).toEqual({
      outcome: 'settled',
      transfer: {
        txHash: TX,
        blockNumber: 100n,
        blockHash: BLOCK,
        blockTime: TIME,
        sender: wallet('f'),
        logIndex: 4,
        value: terms.valueUnits,
      },
    });
  });

  it('is settled at the very finalized block, when its hash is the same', () => {
    const same = { number: 100n, hash: BLOCK, timestamp: TIME };
    expect(decide(evidence({ evidence: { finalized: same } }), terms).outcome).toBe('settled');
  });

  it('is settled when removal came with or after a later block', () => {
    const removedAt = Number(TIME) * 1000 + 1;
    expect(decide(evidence(), { ...terms, removedAt }).outcome).toBe('settled');
  });
});

const unknowns: [string, Evidence][] = [
  ['wrong_chain', evidence({ evidence: { chainId: 1n } })],
  ['receipt_missing', evidence({ use: { receipt: null } })],
  ['not_canonical', evidence({ use: { block: null } })],
  ['not_canonical', evidence({ block: { hash: word('e') } })],
  ['not_canonical', evidence({ block: { number: 101n } })],
  ['not_canonical', evidence({ block: { transactions: [] } })],
  ['not_canonical', evidence({ receipt: { blockHash: word('e') } })],
  ['not_canonical', evidence({ receipt: { blockNumber: 99n } })],
  ['not_canonical', evidence({ receipt: { transactionHash: word('9') } })],
  ['contradiction', evidence({ receipt: { status: 'reverted' } })],
  ['contradiction', evidence({ logs: [usedLog({ removed: true }), transferLog()] })],
  ['contradiction', evidence({ logs: [usedLog({ address: wallet('e') }), transferLog()] })],
  ['contradiction', evidence({ logs: [transferLog()] })],
  [
    'contradiction',
    evidence({ logs: [log(3, [AUTHORIZATION_USED_TOPIC, addressTopic(PAYEE), NONCE], '0x'), transferLog()] }),
  ],
  [
    'contradiction',
    evidence({ logs: [log(3, [AUTHORIZATION_USED_TOPIC, addressTopic(PAYER), word('8')], '0x'), transferLog()] }),
  ],
  ['contradiction', evidence({ use: { log: usedLog({ logIndex: 9 }) } })],
  ['contradiction', evidence({ use: { log: usedLog({ data: '0x00' }) } })],
  ['contradiction', evidence({ use: { transfersInBlock: [] } })],
  ['contradiction', evidence({ use: { transfersInBlock: [transferLog({ units: 1n })] } })],
  ['contradiction', evidence({ use: { transfersInBlock: [transferLog({ removed: true })] } })],
  ['contradiction', evidence({ use: { transfersInBlock: [transferLog({ logIndex: 5 })] } })],
  ['contradiction', evidence({ use: { transfersInBlock: [transferLog({ to: PAYER })] } })],
  ['no_finalized_head', evidence({ evidence: { finalized: null } })],
  ['not_final', evidence({ evidence: { finalized: { number: 99n, hash: word('d'), timestamp: TIME } } })],
  ['contradiction', evidence({ evidence: { finalized: { number: 100n, hash: word('d'), timestamp: TIME } } })],
  [
    'used_without_log',
    absent({ nonceUsed: true, finalized: { number: 200n, hash: word('d'), timestamp: TIME + 999n } }),
  ],
  ['not_mined', absent({ nonceUsed: null, finalized: { number: 200n, hash: word('d'), timestamp: TIME + 999n } })],
  ['not_mined', absent()],
  ['not_mined', absent({ finalized: null, latest: { number: 200n, timestamp: TIME + 999n } })],
  ['not_mined', absent({ finalized: { number: 110n, hash: word('d'), timestamp: TIME + 59n } })],
];

describe('what stays unknown', () => {
  it.each(unknowns.map(([why, given], index) => ({ why, given, index })))('$index: $why', ({ why, given }) => {
    expect(decide(given, terms)).toMatchObject({ outcome: 'unknown', why });
  });

  it('shows where the transfer was seen while it is not final', () => {
    const seen = decide(evidence({ evidence: { finalized: null } }), terms);
    expect(seen).toMatchObject({ sighting: { txHash: TX, blockNumber: 100n } });
  });
});

describe('what ends unpaid', () => {
  it('an unused nonce, once a block at validBefore is final', () => {
    const finalized = { number: 110n, hash: word('d'), timestamp: TIME + 60n };
    expect(decide(absent({ finalized }), terms)).toEqual({ outcome: 'refused', reason: 'expired' });
  });

  it('an unused nonce that was never submitted, once the latest block is past validBefore', () => {
    const never = { ...terms, mayBeSubmitted: false };
    const at = (seconds: bigint) => absent({ finalized: null, latest: { number: 1n, timestamp: TIME + seconds } });
    expect(decide(at(61n), never)).toEqual({ outcome: 'refused', reason: 'expired' });
    expect(decide(at(60n), never).outcome).toBe('unknown');
  });

  it('a final cancellation', () => {
    const canceled = log(3, [AUTHORIZATION_CANCELED_TOPIC, addressTopic(PAYER), NONCE], '0x');
    expect(decide(evidence({ logs: [canceled] }), terms)).toEqual({ outcome: 'refused', reason: 'canceled' });
  });

  it.each([
    ['another payee', [usedLog(), transferLog({ to: wallet('3') })]],
    ['too little', [usedLog(), transferLog({ units: 2_499_999n })]],
    ['too much', [usedLog(), transferLog({ units: 2_500_001n })]],
    [
      'nothing, and a fitting transfer behind',
      [usedLog(), transferLog({ to: PAYER, units: 0n }), transferLog({ logIndex: 5 })],
    ],
  ])('a final use that moved %s', (_what, logs) => {
    expect(decide(evidence({ logs }), terms)).toEqual({ outcome: 'refused', reason: 'no_fitting_transfer' });
  });
});

it('a fitting transfer at or before the block of the opening is for review: money that moved is never called unpaid', () => {
  const early = decide(evidence(), { ...terms, openedBlock: 100n });
  expect(early).toMatchObject({ outcome: 'review', reason: 'used_before_opening' });
});

it('what ends by the clock ends at its very second', () => {
  const submitted = (seconds: bigint) =>
    decide(absent({ finalized: { number: 110n, hash: word('d'), timestamp: terms.validBefore + seconds } }), terms);
  expect([-1n, 0n, 1n].map((seconds) => submitted(seconds).outcome)).toEqual(['unknown', 'refused', 'refused']);
  const never = { ...terms, mayBeSubmitted: false };
  const idle = (seconds: bigint) =>
    decide(absent({ finalized: null, latest: { number: 120n, timestamp: terms.validBefore + seconds } }), never);
  expect([-1n, 0n, 1n].map((seconds) => idle(seconds).outcome)).toEqual(['unknown', 'unknown', 'refused']);
});

it('a latest block past validBefore ends nothing that may have been submitted: it can be reorganised', () => {
  const late = absent({ finalized: null, latest: { number: 200n, timestamp: terms.validBefore + 9_999n } });
  expect(decide(late, terms)).toMatchObject({ outcome: 'unknown', why: 'not_mined' });
});

it('a use above the finalized head is neither settled nor refused, whatever it moved', () => {
  const finalized = { number: 99n, hash: word('d'), timestamp: TIME + 999n };
  for (const logs of [[usedLog()], [usedLog(), transferLog()], [usedLog(), transferLog({ units: 1n })]]) {
    expect(decide(evidence({ logs, evidence: { finalized } }), terms)).toMatchObject({ why: 'not_final' });
  }
});

it.each([
  ['no log at all', []],
  ['a transfer of another payer', [transferLog({ from: wallet('3') })]],
  ['a transfer of another token', [transferLog({ address: wallet('e') })]],
  ['a fitting transfer one place later', [transferLog({ logIndex: 5 })]],
  ['a fitting transfer from before the use', [transferLog({ logIndex: 2 })]],
  [
    'another log of the payer, then a fitting transfer',
    [
      usedLog({ logIndex: 4, topics: [AUTHORIZATION_USED_TOPIC, addressTopic(PAYER), word('8')] }),
      transferLog({ logIndex: 5 }),
    ],
  ],
  [
    'a topic whose upper bytes are not zero',
    [transferLog({ topics: [TRANSFER_TOPIC, word('1'), addressTopic(PAYEE)] })],
  ],
  ['two topics', [transferLog({ topics: [TRANSFER_TOPIC, addressTopic(PAYER)] })]],
  ['data of 33 bytes', [transferLog({ data: `${valueData(2_500_000n)}00` })]],
  ['data of 31 bytes', [transferLog({ data: valueData(2_500_000n).slice(0, -2) as Hex })]],
  ['no data', [transferLog({ data: '0x' })]],
])('a final use that the token did not follow with the transfer is unknown, and seen: %s', (_what, behind) => {
  const logs = [usedLog(), ...behind];
  const transfersInBlock = behind.filter((entry) => entry.address === USDC && entry.topics[0] === TRANSFER_TOPIC);
  const isTransfer = (entry: Log): boolean =>
    entry.topics.length === 3 && entry.data.length === 66 && entry.topics[1] === addressTopic(PAYER);
  const decision = decide(evidence({ logs, use: { transfersInBlock: transfersInBlock.filter(isTransfer) } }), terms);
  expect(decision).toMatchObject({ outcome: 'unknown', why: 'use_without_transfer', sighting: { txHash: TX } });
});

it('only the transfer directly behind the use counts, whatever else the transaction moved', () => {
  const around = [transferLog({ logIndex: 1 }), transferLog({ logIndex: 7 })];
  expect(decide(evidence({ logs: [usedLog(), ...around, transferLog()] }), terms)).toMatchObject({
    outcome: 'settled',
    transfer: { logIndex: 4 },
  });
});

it('what arrives after an edit has stopped the attempt is for review, and nothing else changes', () => {
  const stopped = { ...terms, isStopped: true };
  expect(decide(evidence(), stopped)).toMatchObject({ outcome: 'review', reason: 'listing_changed' });
  for (const [, given] of unknowns) expect(decide(given, stopped)).toEqual(decide(given, terms));
});

it('removal is compared to the millisecond', () => {
  const removed = (milliseconds: number) =>
    decide(evidence(), { ...terms, removedAt: Number(TIME) * 1000 + milliseconds }).outcome;
  expect([-1, 0, 1].map(removed)).toEqual(['review', 'review', 'settled']);
});

it('a transfer in a block at or after the removal is for review', () => {
  const removedAt = Number(TIME) * 1000;
  expect(decide(evidence(), { ...terms, removedAt })).toMatchObject({ outcome: 'review', reason: 'listing_removed' });
});

it('property: nothing above the finalized head is ever settled, refused or reviewed', () => {
  fc.assert(
    fc.property(fc.bigInt(-3n, 3n), fc.boolean(), fc.bigInt(80n, 120n), (offset, sameHash, openedBlock) => {
      const finalized = { number: 100n + offset, hash: sameHash ? BLOCK : word('d'), timestamp: TIME + 999n };
      const decision = decide(evidence({ evidence: { finalized } }), { ...terms, openedBlock });
      const isFinal = offset > 0n || (offset === 0n && sameHash);
      expect(decision.outcome === 'unknown').toBe(!isFinal);
    }),
  );
});

it('property: the log directly behind the use decides, whatever stands elsewhere', () => {
  const someLog = fc
    .record({
      address: fc.constantFrom(USDC, wallet('e')),
      from: fc.constantFrom(PAYER, PAYEE, wallet('3')),
      to: fc.constantFrom(PAYEE, PAYER, wallet('3')),
      units: fc.constantFrom(2_500_000n, 2_499_999n, 2_500_001n, 0n),
      extraTopic: fc.boolean(),
    })
    .map(({ extraTopic, ...given }) => ({ given, extraTopic }));
  fc.assert(
    fc.property(fc.array(someLog, { maxLength: 8 }), (drawn) => {
      const logs = drawn.map(({ given, extraTopic }, index) => {
        const made = transferLog({ ...given, logIndex: 4 + index });
        return extraTopic ? { ...made, topics: [...made.topics, word('5')] } : made;
      });
      const [next] = drawn;
      const isTransfer =
        next !== undefined && !next.extraTopic && next.given.address === USDC && next.given.from === PAYER;
      const fits = isTransfer && next.given.to === PAYEE && next.given.units === 2_500_000n;
      // A query for the block's transfers filters by address, so it returns only logs of USDC.
      const transfersInBlock = logs.filter((entry) => entry.address === USDC && entry.topics.length === 3);
      const decision = decide(evidence({ logs: [usedLog(), ...logs], use: { transfersInBlock } }), terms);
      expect(decision.outcome).toBe(fits ? 'settled' : isTransfer ? 'refused' : 'unknown');
    }),
    { numRuns: 1_000 },
  );
});
