import { expect, test } from 'vitest';
import { createMetrics } from './create-metrics.ts';
import type { ChainFacts, PaymentsFacts } from './observe-chain.ts';

const provider = {
  number: 1,
  endpoint: 'https://node.example/...',
  answeredAgeSeconds: 0.5,
  headNumber: 100,
  headAgeSeconds: 2,
  failures: { timeout: 3, error: 0 },
  traffic: { requests: 5, bytes: { sent: 900, received: 4_000 }, calls: { eth_call: 7 } },
  disagreements: 2,
  excluded: false,
  logSpanBlocks: 2_000,
};
const silent = {
  ...provider,
  number: 2,
  answeredAgeSeconds: null,
  headNumber: null,
  headAgeSeconds: null,
  excluded: true,
  logSpanBlocks: 7,
};

test('each provider has its own samples, also two of one vendor, and unknown values have none', async () => {
  const facts: ChainFacts = {
    providers: [provider, silent],
    finalized: null,
    watermark: { number: 90, ageSeconds: 1_200 },
    halted: true,
    withheld: { silent: 1, behind: 0, disagrees: 0 },
    unreadable: 3,
  };
  const metrics = createMetrics({ worker: '1', withProcess: false });
  metrics.observeChain(() => facts);
  await metrics.text();
  const { body } = await metrics.text();
  const lines = body.split('\n').filter((line) => /^openaisle_(?:provider|chain|payments)/.test(line));
  const labels = (number: number) => `provider="${number}",endpoint="https://node.example/..."`;
  expect(lines.sort()).toEqual(
    [
      `openaisle_provider_answer_age_seconds{${labels(1)},worker="1"} 0.5`,
      `openaisle_provider_head_number{${labels(1)},worker="1"} 100`,
      `openaisle_provider_head_age_seconds{${labels(1)},worker="1"} 2`,
      ...['openaisle_provider_excluded', 'openaisle_provider_left_out'].flatMap((name) => [
        `${name}{${labels(1)},worker="1"} 0`,
        `${name}{${labels(2)},worker="1"} 1`,
      ]),
      ...[1, 2].flatMap((number) => [
        `openaisle_provider_errors_total{${labels(number)},kind="timeout",worker="1"} 3`,
        `openaisle_provider_errors_total{${labels(number)},kind="error",worker="1"} 0`,
        `openaisle_provider_requests_total{${labels(number)},worker="1"} 5`,
        `openaisle_provider_calls_total{${labels(number)},method="eth_call",worker="1"} 7`,
        `openaisle_provider_bytes_total{${labels(number)},direction="sent",worker="1"} 900`,
        `openaisle_provider_bytes_total{${labels(number)},direction="received",worker="1"} 4000`,
        `openaisle_provider_disagreements_total{${labels(number)},worker="1"} 2`,
      ]),
      `openaisle_provider_log_span_blocks{${labels(1)},worker="1"} 2000`,
      `openaisle_provider_log_span_blocks{${labels(2)},worker="1"} 7`,
      'openaisle_payments_unreadable{worker="1"} 3',
      ...['openaisle_payments_blocked', 'openaisle_payments_held'].flatMap((name) => [
        `${name}{why="silent",worker="1"} 1`,
        `${name}{why="behind",worker="1"} 0`,
        `${name}{why="disagrees",worker="1"} 0`,
      ]),
      'openaisle_chain_watermark_number{worker="1"} 90',
      'openaisle_payments_halted{worker="1"} 1',
    ].sort(),
  );
});

test('only the leader reports undecided payments', async () => {
  let facts: PaymentsFacts | null = null;
  const metrics = createMetrics({ worker: '1', withProcess: false });
  metrics.observePayments(() => facts);
  expect((await metrics.text()).body).not.toMatch(/^openaisle_payments_open\{|^openaisle_reviews_pending\{/m);
  facts = {
    open: [{ path: 'direct', status: 'settling', count: 4, oldestSeconds: 75 }],
    reviews: 2,
    pass: { tookSeconds: 0.25, ageSeconds: 1 },
  };
  const { body } = await metrics.text();
  expect(body.split('\n')).toEqual(
    expect.arrayContaining([
      'openaisle_payments_open{path="direct",status="settling",worker="1"} 4',
      'openaisle_payments_oldest_seconds{path="direct",status="settling",worker="1"} 75',
      'openaisle_reviews_pending{worker="1"} 2',
      'openaisle_reconcile_seconds{worker="1"} 0.25',
      'openaisle_reconcile_age_seconds{worker="1"} 1',
    ]),
  );
});
