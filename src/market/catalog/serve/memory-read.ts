import type { z } from 'zod';
import type { Prepared } from '../../../platform/http/prepared.ts';
import { readQuery } from '../../../platform/http/request-target.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Asked } from './answers.ts';

/** A public read, as its route in memory gets it. */
export interface MemoryCall {
  /** The last part of the path. */
  name: string;
  query: string;
  asked: Asked;
  /** The version of the model that the client has to be shown at least: its own last write is in it. */
  leastVersion(): number;
}

/** Null, or a Refusal thrown: the operation answers. */
export type MemoryRead = (call: MemoryCall) => Prepared | null;

/** What the schema of an endpoint makes of a query as it was sent; null where the operation has something to refuse. */
export function readQueryAs<Schema extends z.ZodType>(schema: Schema, query: string): z.output<Schema> | null {
  return unlessRefused(() => {
    const read = schema.safeParse(readQuery(query));
    return read.success ? read.data : null;
  });
}

export function unlessRefused<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
