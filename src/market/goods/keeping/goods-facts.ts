import type { Registry } from 'prom-client';
import type { Queryable } from '../../../platform/database/database.ts';
import { registerGauge, type Sample, samplesByLabel } from '../../register-metric.ts';
import { countByStore, countDeletions, countStaged } from './store.ts';

/** Facts about uploaded goods. Only the leader counts them, for all processes. */
export interface GoodsFacts {
  stores: readonly { store: string; objects: number; bytes: number }[];
  /** Uploads that are not listed yet. */
  staged: readonly { state: string; uploads: number; bytes: number }[];
  deletions: { due: number; waiting: number };
}

export async function readGoodsFacts(queryable: Queryable, now: Date): Promise<GoodsFacts> {
  const stores = await countByStore(queryable);
  const staged = await countStaged(queryable);
  const deletions = await countDeletions(queryable, now);
  return {
    stores: stores.map(({ name, count, bytes }) => ({ store: name, objects: Number(count), bytes: Number(bytes) })),
    staged: staged.map(({ name, count, bytes }) => ({ state: name, uploads: Number(count), bytes: Number(bytes) })),
    deletions: { due: Number(deletions.due), waiting: Number(deletions.waiting) },
  };
}

export function observeGoods(registry: Registry, read: () => GoodsFacts | null): void {
  const addGauge = (
    name: string,
    help: string,
    label: string,
    pick: (facts: GoodsFacts) => readonly Sample[],
  ): void => {
    const readSamples = (): readonly Sample[] => {
      const facts = read();
      return facts === null ? [] : pick(facts);
    };
    registerGauge(registry, { name, help, labelNames: [label], read: readSamples });
  };
  const ofStores = (count: 'objects' | 'bytes') => (facts: GoodsFacts) =>
    facts.stores.map((one) => ({ labels: { store: one.store }, value: one[count] }));
  const ofStaged = (count: 'uploads' | 'bytes') => (facts: GoodsFacts) =>
    facts.staged.map((one) => ({ labels: { state: one.state }, value: one[count] }));
  addGauge('openaisle_goods_bytes', 'Bytes of uploaded goods, listed or not, by store', 'store', ofStores('bytes'));
  addGauge('openaisle_goods_objects', 'Uploaded goods, listed or not, by store', 'store', ofStores('objects'));
  addGauge('openaisle_goods_uploads', 'Uploads that are not listed yet', 'state', ofStaged('uploads'));
  addGauge(
    'openaisle_goods_upload_bytes',
    'Bytes received of uploads that are not listed yet',
    'state',
    ofStaged('bytes'),
  );
  addGauge('openaisle_goods_deletions', 'Objects of the S3 store to delete, now or later', 'when', (facts) =>
    samplesByLabel('when', { now: facts.deletions.due, later: facts.deletions.waiting }),
  );
}
