import { createQuickPosts } from './answer-posts-quickly.ts';
import { type AnswerQuickly, createQuickAnswers, type QuickOptions, type QuickWay } from './answer-quickly.ts';
import type { Mount } from './mount.ts';
import type { QuickPost, Shortcut } from './prepared.ts';

/** What may be answered past the framework: reads, and messages to mounts. */
export function createQuickWay(
  shortcut: Shortcut | undefined,
  mounts: readonly Mount[],
  options: Omit<QuickOptions, 'shortcut'>,
): QuickWay {
  const reads: AnswerQuickly = shortcut === undefined ? () => false : createQuickAnswers({ ...options, shortcut });
  const posts = createQuickPosts(postsOf(mounts), options);
  return {
    answer: (request, response, ordinary) =>
      reads(request, response, ordinary) || posts.answer(request, response, ordinary),
    bodyOf: posts.bodyOf,
  };
}

function postsOf(mounts: readonly Mount[]): Map<string, QuickPost> {
  return new Map(
    mounts.flatMap(({ method, path, quickly }) =>
      method === 'POST' && quickly !== undefined ? [[path, quickly] as const] : [],
    ),
  );
}
