import { expect, it } from 'vitest';
import { settableClock } from '../../../../test/support/market-context.ts';
import { createProviderHealth, createProviders } from '../../../platform/chain/providers.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { findObjections } from '../../../platform/chain/second-provider.ts';
import { createUnreadablePayments } from './unreadable-payments.ts';

const NOW = 1_800_000_000_000;
const PASS_MS = 10_000;

it('a provider without logs does not lead again because it answers about the receipts of direct claims', async () => {
  const clock = settableClock(NOW);
  const providers = createProviders(['http://127.0.0.1:1', 'http://127.0.0.1:2'], clock);
  const [withoutLogs, withLogs] = providers;
  const providerHealth = createProviderHealth(providers, clock);
  const unreadable = createUnreadablePayments(clock, providerHealth);
  const payments = [{ id: 1n }];
  const decidedAt: number[] = [];

  for (let pass = 1; pass <= 60; pass += 1) {
    clock.set(NOW + pass * PASS_MS);
    const timestamp = BigInt(Math.floor(clock.now() / 1_000));
    for (const health of providerHealth.all) health.noteHead({ number: timestamp / 2n, timestamp });
    const rpc = providerHealth.leaders()[0]?.provider;
    if (rpc === undefined) throw new Error('no provider leads');
    const shown = rpc === withLogs ? new Map([[1n, {}]]) : null;
    unreadable.note({ rpc, path: 'x402', about: 'logs', payments, shown });
    unreadable.note({ rpc, path: 'direct', about: 'receipts', payments: [{ id: 2n }], shown: new Map([[2n, {}]]) });
    for (const health of providerHealth.all.filter(({ provider }) => provider !== rpc)) {
      const onClaim = { about: 'receipts' as const, keys: ['claim'], askOne: async () => new Map() };
      expect(await findObjections(providerHealth, health, onClaim)).toEqual(new Map());
      const askOne = async () => {
        if (health.provider === withoutLogs) throw new RpcFailure('error', 'no logs');
        return new Map();
      };
      const objections = await findObjections(providerHealth, health, { about: 'logs', keys: ['use'], askOne });
      if (shown !== null && objections.size === 0) decidedAt.push(pass);
    }
  }
  // More than a minute passes from the first failure, in round 1, to the last one that counts, in round 8.
  expect(decidedAt).toEqual(Array.from({ length: 52 }, (_, at) => at + 9));
});
