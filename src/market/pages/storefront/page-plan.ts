import type { Problem } from '../../../contract/errors.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import type { InternalRequest } from '../../../platform/http/server-options.ts';
import type { MarketConfig } from '../../context.ts';
import type { EventTail } from '../../events/read-events.ts';
import { renderShell } from '../shell/render-shell.ts';

/** Facts that a page may show beyond the answer of its route. */
export interface Scene {
  config: MarketConfig;
  events: EventTail;
  /** Handle of the maintainer; null: there is none yet. */
  maintainer: string | null;
  /** Rounded down to steps, so that a page stays the same between them. */
  nowMs: number;
}

export interface Shown {
  title: string;
  /** HTML. */
  main: string;
  /** The link of the header to mark. */
  path?: string;
  /** HTML of the head. */
  head?: string;
  scripts?: readonly string[];
  /** Addresses of stylesheets in addition to those of every page here. */
  styles?: readonly string[];
}

/** Reads data that no route answers as a whole. The result becomes the answer, as JSON. */
export type PageRead = (queryable: Queryable) => Promise<unknown>;

/** A page before its data is read: what to request, and how to render the answer. */
export interface PagePlan {
  /** Pattern of its address. */
  route: string;
  /** Its address in one spelling; key of the cache. */
  key: string;
  /** Version of what it shows beyond the answer of its route. */
  version?: string;
  /** The route with its data, asked in memory first; or a function that reads it where no route does. */
  request: InternalRequest | PageRead;
  /** Its script fetches from this market. */
  connects?: true;
  /** Set for a page that is not HTML: its type and its whole text. */
  document?: { type: string; write(answer: string, scene: Scene): string };
  show(answer: string, scene: Scene): Shown;
  /** HTML shown with a refusal that can be put right on the page. */
  again?(problem: Problem): string;
  /** Addresses of stylesheets that this needs in addition to those of every page here. */
  styles?: readonly string[];
  /** Link shown with a refusal. */
  back: { path: string; name: string };
}

export function writePage(plan: PagePlan, answer: string, scene: Scene): string {
  return plan.document?.write(answer, scene) ?? renderShell(plan.show(answer, scene));
}
