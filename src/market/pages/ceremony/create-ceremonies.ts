import { type AnyPageRoute, formPage, type PageAnswer, page } from '../../../platform/http/server-options.ts';
import type { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { chooseForm } from '../choose-form.ts';
import { answerHtml } from './answer-html.ts';
import type { Ceremony } from './ceremony.ts';
import { describeDoor } from './describe-door.ts';
import { explainRefusal, retryHeaders, statusOf } from './explain-refusal.ts';
import { join } from './join.ts';
import { openCeremony } from './open-ceremony.ts';
import { recover } from './recover.ts';
import { renderMessage } from './render-end.ts';
import { rotate } from './rotate.ts';
import type { CeremonyParts } from './step.ts';
import { takeForm } from './take-form.ts';
import { TYPED_BACK_FIELDS } from './typed-back.ts';

export const CEREMONIES: readonly Ceremony[] = [join, rotate, recover];

/** The three doors for people: each address gives its page and takes its own form. */
export function createCeremonies(market: Market, parts: Pick<CeremonyParts, 'catalog'>): AnyPageRoute[] {
  const all = { ...parts, ceremonies: CEREMONIES };
  return CEREMONIES.flatMap((ceremony) => {
    const { path } = ceremony;
    const refused = (refusal: Refusal) => answerRefused(market, ceremony, refusal);
    return [
      page({
        method: 'GET',
        path,
        cache: 'private',
        ownOrigin: true,
        refused,
        // W4: HTML to a browser, JSON or text to programs.
        handler: async (call) =>
          chooseForm(call.accept) === 'html'
            ? withVary(await openCeremony(market, all, ceremony, call))
            : describeDoor(market.config, ceremony, call.accept),
      }),
      formPage({
        method: 'POST',
        path,
        ownOrigin: true,
        secretFields: [...ceremony.secretFields, ...TYPED_BACK_FIELDS],
        refused,
        handler: (call) => takeForm(market, all, ceremony, call),
      }),
    ];
  });
}

function withVary(answer: PageAnswer): PageAnswer {
  return { ...answer, headers: { ...answer.headers, vary: 'accept' } };
}

/** Answers refusals that no step answers. After a failure of ours it is unknown whether the step was taken; the page itself shows it. */
function answerRefused({ random }: Pick<Market, 'random'>, { path, words }: Ceremony, refusal: Refusal): PageAnswer {
  const isFailure = refusal.row.status >= 500;
  const title = isFailure ? 'No answer just now' : 'Not done';
  return answerHtml(random, {
    ...{ path, title },
    status: statusOf(refusal),
    headers: retryHeaders(refusal),
    main: renderMessage({
      title,
      text: isFailure ? 'The market could not read or write what it needs.' : explainRefusal(refusal).message,
      link: {
        before: isFailure ? 'Wait a little, then see how things stand at ' : 'Nothing was changed. Begin again at ',
        ...{ address: path, name: words.title, after: '.' },
      },
    }),
  });
}
