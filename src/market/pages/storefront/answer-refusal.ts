import type { Problem } from '../../../contract/errors.ts';
import type { Incoming, Outgoing } from '../../../platform/http/message.ts';
import { chooseForm } from '../choose-form.ts';
import { HTML_HEADERS } from '../render-html.ts';
import type { PagePlan } from './page-plan.ts';
import { showRefusal } from './refusal-page.ts';
import { writeShown } from './write-page.ts';

/** A refusal of the route as a page of the same status, for who reads pages; a problem for everybody else. */
export async function answerRefusal(outgoing: Outgoing, { headers }: Incoming, plan?: PagePlan): Promise<Outgoing> {
  const { status, body } = outgoing;
  if (typeof body !== 'string') return outgoing;
  const vary = { vary: 'accept' };
  if (chooseForm(headers.accept) !== 'html') return { ...outgoing, headers: { ...outgoing.headers, ...vary } };
  const problem = JSON.parse(body) as Problem;
  return {
    status,
    headers: { ...outgoing.headers, ...HTML_HEADERS, ...vary },
    body: writeShown(showRefusal(problem, plan)),
  };
}
