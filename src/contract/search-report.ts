import { z } from 'zod';
import { UNTRUSTED } from './text.ts';

/** Says how each word of a need was searched. */
export const searchReport = z
  .object({
    words: z
      .array(
        z.object({
          word: z.string().describe('the word or phrase as typed, in plain letters'),
          listings: z.number().int().describe('live listings that have it; of two words in its place, the rarer one'),
          used_as: z
            .string()
            .optional()
            .describe(`no listing has the word, so this was searched in its place; ${UNTRUSTED}`),
        }),
      )
      .describe('words that were searched'),
    ignored: z.array(z.string()).describe('words that were left out, because they say nothing or are too many'),
    missing: z.array(z.string()).describe('words that no listing has, nor one spelled alike'),
    matched: z
      .enum(['all', 'some'])
      .describe('all: at least one listing has every word; some: none has, and these come closest'),
  })
  .meta({ id: 'SearchReport' });
export type SearchReport = z.output<typeof searchReport>;
