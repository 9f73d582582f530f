import type { Problem } from '../../../contract/errors.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import type { InternalRequest } from '../../../platform/http/server-options.ts';
import type { MarketConfig } from '../../context.ts';
import type { EventTail } from '../../events/read-events.ts';
import { renderShell } from '../shell/render-shell.ts';

/** What a page may say beyond what its route answers. */
export interface Scene {
  config: MarketConfig;
  events: EventTail;
  /** Handle of the maintainer; null: there is none yet. */
  maintainer: string | null;
  /** In steps, so that a page stays the same between them. */
  nowMs: number;
}

export interface Shown {
  title: string;
  /** HTML. */
  main: string;
  /** The place in the header that it belongs to. */
  path?: string;
  /** HTML of the head. */
  head?: string;
  scripts?: readonly string[];
  /** Addresses of stylesheets in addition to those of every page here. */
  styles?: readonly string[];
}

/** For pages that show what no route tells as a whole. What comes back becomes the answer, as JSON. */
export type PageRead = (queryable: Queryable) => Promise<unknown>;

/** One page before anything is known of it: what to ask for, and what to make of the answer. */
export interface PagePlan {
  /** The pattern of its address. */
  route: string;
  /** Its own address, in one spelling. */
  key: string;
  /** What it shows beyond the answer of its route, as a version. */
  version?: string;
  /** The route that knows it, asked in memory first; or how it is read where no route does. */
  request: InternalRequest | PageRead;
  /** Its script asks this market for more. */
  connects?: true;
  /** Anything that is no HTML has its type and its whole text here. */
  document?: { type: string; write(answer: string, scene: Scene): string };
  show(answer: string, scene: Scene): Shown;
  /** HTML between the heading and the way on, where a refusal can be put right on the page. */
  again?(problem: Problem): string;
  /** Addresses of stylesheets that this needs in addition to those of every page here. */
  styles?: readonly string[];
  /** Where to go when it is refused. */
  back: { path: string; name: string };
}

export function writePage(plan: PagePlan, answer: string, scene: Scene): string {
  return plan.document?.write(answer, scene) ?? renderShell(plan.show(answer, scene));
}
