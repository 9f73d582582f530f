import type { z } from 'zod';
import { refuseIssues } from '../../../platform/http/failure.ts';
import { guardBody } from '../../../platform/http/guard-request.ts';
import { type Incoming, readBody } from '../../../platform/http/message.ts';
import type { SecretGuard } from '../../../platform/secrets.ts';

/** The JSON of one step of the page; none is an empty object. The guard comes before any word about its shape. */
export function readStep<T>(
  guard: SecretGuard,
  { body, headers }: Pick<Incoming, 'body' | 'headers'>,
  schema: z.ZodType<T>,
  ownPlaces: readonly string[],
): T {
  const checked = schema.safeParse(readGuarded(guard, { body, headers }, ownPlaces));
  if (!checked.success) throw refuseIssues(checked.error.issues, 'invalid_fields');
  return checked.data;
}

function readGuarded(
  guard: SecretGuard,
  { body, headers }: Pick<Incoming, 'body' | 'headers'>,
  ownPlaces: readonly string[],
): unknown {
  if (body.length === 0) return {};
  let read: unknown;
  try {
    read = readBody(body, headers);
  } catch (error) {
    guardBody(guard, body, undefined);
    throw error;
  }
  guardBody(guard, read, ownPlaces);
  return read;
}
