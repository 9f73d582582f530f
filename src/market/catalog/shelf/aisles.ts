import { AISLES } from '../../../contract/vocabulary.ts';
import type { Model } from '../model/model.ts';

export interface AisleCounts {
  version: number;
  aisles: { name: (typeof AISLES)[number]; count: number; url: string }[];
  /** How a page of the shelves begins: the same bytes in the same place as long as the counts are the same. */
  prefix: Buffer;
}

const counted = new WeakMap<Model, AisleCounts>();

/** All aisles with the number of their live listings, whatever the filters. */
export function aislesOf(model: Model): AisleCounts {
  const known = counted.get(model);
  if (known?.version === model.version) return known;
  if (known?.aisles.every(({ count }, at) => count === model.aisles[at]?.count)) {
    known.version = model.version;
    return known;
  }
  const aisles = AISLES.map((name, at) => ({
    name,
    count: model.aisles[at]?.count ?? 0,
    url: `/api/shelves?aisle=${name}`,
  }));
  const prefix = Buffer.from(`{"aisles":${JSON.stringify(aisles)},"listings":[`);
  const fresh = { version: model.version, aisles, prefix };
  counted.set(model, fresh);
  return fresh;
}
