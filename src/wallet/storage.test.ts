import { expect, it } from 'vitest';
import type { SavedPayment } from '../sdk/payments/proof-store.ts';
import { beginRecord } from './purchase-record.ts';
import { createPurchaseStore, type Shelf } from './storage.ts';

const PAYMENT: SavedPayment = {
  version: 1,
  purpose: 'purchase',
  payee: `0x${'1'.repeat(40)}`,
  amount_units: '4000000',
  network: 'base',
  artifact_commitment: `0x${'2'.repeat(64)}`,
  proof: { header: { name: 'PAYMENT-SIGNATURE', value: 'abc' }, payer: '0xa', nonce: '0xb', valid_before: 9 },
  delivery_token: 'token-1',
};

function memoryShelf(): Shelf & { values: Map<string, string> } {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (name) => values.get(name) ?? null,
    setItem: (name, value) => void values.set(name, value),
    removeItem: (name) => void values.delete(name),
  };
}

it('a saved payment is found by another tab, for any payer', async () => {
  const shelf = memoryShelf();
  await createPurchaseStore(shelf, 7).proofs.save('site buy 7 0xa', PAYMENT);
  const other = createPurchaseStore(shelf, 7);
  expect(await other.saved()).toEqual(PAYMENT);
  expect(await other.proofs.load('site buy 7 0xa')).toEqual(PAYMENT);
  expect(await createPurchaseStore(shelf, 8).saved()).toBeNull();
});

it('another wallet may not begin while a payment is kept', async () => {
  const store = createPurchaseStore(memoryShelf(), 7);
  await store.proofs.save('site buy 7 0xa', PAYMENT);
  await expect(store.proofs.load('site buy 7 0xc')).rejects.toThrow('another wallet');
});

it('saving fails where the browser keeps nothing', async () => {
  const forgetful: Shelf = { getItem: () => null, setItem: () => {}, removeItem: () => {} };
  await expect(createPurchaseStore(forgetful, 7).proofs.save('k', PAYMENT)).rejects.toThrow('did not keep');
  const full: Shelf = {
    ...forgetful,
    setItem: () => {
      throw new DOMException('full', 'QuotaExceededError');
    },
  };
  await expect(createPurchaseStore(full, 7).proofs.save('k', PAYMENT)).rejects.toThrow('full');
});

it.each(['{', '"text"', '{"key":"k"}', '{"key":"k","payment":{"version":2}}'])(
  'what cannot be read stops everything: %s',
  async (text) => {
    const shelf = memoryShelf();
    shelf.values.set('openaisle:proof:7', text);
    await expect(createPurchaseStore(shelf, 7).saved()).rejects.toThrow();
  },
);

it('the end of a payment leaves what the goods are read again with, and no proof', async () => {
  const shelf = memoryShelf();
  const store = createPurchaseStore(shelf, 7);
  store.write(beginRecord('0xa', 5));
  await store.proofs.save('k', PAYMENT);
  await store.proofs.clear('k');
  expect(store.record()).toMatchObject({ phase: 'bought', payer: '0xa', token: 'token-1' });
  expect([...shelf.values.keys()]).toEqual(['openaisle:purchase:7']);
  store.forget();
  expect(shelf.values.size).toBe(0);
});

it('a slip that came with an answer outlives the proof, and records of before have none', async () => {
  const shelf = memoryShelf();
  const store = createPurchaseStore(shelf, 7);
  const { recovery_slip: _, ...before } = beginRecord('0xa', 5);
  shelf.values.set('openaisle:purchase:7', JSON.stringify(before));
  expect(store.record()).toMatchObject({ payer: '0xa', recovery_slip: null });
  await store.proofs.save('k', { ...PAYMENT, recovery_slip: 'rs1_one' });
  await store.proofs.clear('k');
  expect(store.record()).toMatchObject({ phase: 'bought', recovery_slip: 'rs1_one' });
});

it('the token is kept before the proof goes', async () => {
  const shelf = memoryShelf();
  const steps: string[] = [];
  const watched: Shelf = {
    getItem: shelf.getItem,
    setItem: (name, value) => {
      steps.push(`set ${name}`);
      shelf.setItem(name, value);
    },
    removeItem: (name) => {
      steps.push(`remove ${name}`);
      shelf.removeItem(name);
    },
  };
  const store = createPurchaseStore(watched, 7);
  await store.proofs.save('k', PAYMENT);
  await store.proofs.clear('k');
  expect(steps).toEqual(['set openaisle:proof:7', 'set openaisle:purchase:7', 'remove openaisle:proof:7']);
});
