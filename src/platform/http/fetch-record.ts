import type { z } from 'zod';
import { SITE_ANSWER_LIMIT_BYTES, SITE_DEADLINE_SECONDS } from '../../contract/vocabulary.ts';
import { askJson, OutboundFailure } from './outbound-requests.ts';

export interface RecordRequest<Shape extends z.ZodType> {
  shape: Shape;
  /** True if the answer says that there is no such record. */
  isAbsent(answer: { status: number; json: unknown }): boolean;
  /** Makes the error for an unusable answer. `isSilent`: the site could not be reached, or did not answer in time. */
  refuse(why: string, isSilent: boolean): Error;
}

/** Reads a public record of another site, without a key or a cookie, and treats it as hostile input. Null if there is no such record. */
export async function fetchRecord<Shape extends z.ZodType>(
  url: string,
  { shape, isAbsent, refuse }: RecordRequest<Shape>,
): Promise<z.output<Shape> | null> {
  const limits = { deadlineMs: SITE_DEADLINE_SECONDS * 1_000, maxBytes: SITE_ANSWER_LIMIT_BYTES };
  const answer = await askJson(url, { body: null, ...limits }).catch((error: unknown) => {
    if (!(error instanceof OutboundFailure)) throw error;
    throw refuse(error.why, error.why === 'timeout' || error.why === 'unreachable');
  });
  if (isAbsent(answer)) return null;
  if (answer.status !== 200) throw refuse(`status ${answer.status}`, false);
  const read = shape.safeParse(answer.json);
  if (!read.success) throw refuse('an answer of the wrong shape', false);
  return read.data;
}
