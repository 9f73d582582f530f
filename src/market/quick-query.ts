import type { z } from 'zod';
import { readQuery } from '../platform/http/request-target.ts';
import { Refusal } from '../platform/refusal.ts';

/** What the schema of an endpoint makes of a query as it was sent; null where the long way has something to refuse. */
export function quickQuery<Schema extends z.ZodType>(schema: Schema, query: string): z.output<Schema> | null {
  try {
    const read = schema.safeParse(readQuery(query));
    return read.success ? read.data : null;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
