import { html } from 'ghtml';
import type { Problem } from '../../../contract/errors.ts';
import type { PagePlan, Shown } from './page-plan.ts';

type Around = Pick<PagePlan, 'back' | 'again' | 'styles'>;
const ANYWHERE: Around = { back: { path: '/shelves', name: 'All shelves' } };

/** What the route said no to, as a page: what happened, and one way on. */
export function showRefusal(problem: Problem, plan: Around = ANYWHERE): Shown {
  const { title, detail, reason, errors = [] } = problem;
  return {
    title: `${title} - Openaisle`,
    styles: plan.styles ?? [],
    main: html`<div>
<h1>${title}</h1>
<p class="summary">${detail === title ? problem.next_step : detail}</p>
!${errors.length === 0 ? '' : html`<ul>!${errors.map(({ path, message }) => html`<li>${NAMES[path] ?? path} ${message}</li>`)}</ul>`}
!${plan.again?.(problem) ?? ''}
<p><a class="button" href="${plan.back.path}">${plan.back.name}</a></p>
<p class="quiet">Nothing was changed. The reason is called <a href="/docs/errors/${reason}">${reason}</a>.</p>
</div>`,
  };
}

/** Fields of the route, as the page calls them. */
const NAMES: Readonly<Record<string, string>> = {
  max_price_usdc: 'The highest price',
  q: 'What is searched for',
  sort: 'The order',
  free: 'Free or not',
  tag: 'The tag',
  cursor: 'The place in the list',
  before_id: 'The place in the list',
  after_id: 'The place in the list',
  comments_after_id: 'The place among the comments',
  id: 'The number of the listing',
  handle: 'The name of the store',
};
