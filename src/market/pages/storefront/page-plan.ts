import type { Problem } from '../../../contract/errors.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import type { InternalRequest } from '../../../platform/http/server-options.ts';
import type { MarketConfig } from '../../context.ts';
import type { EventTail } from '../../events/read-events.ts';
import { renderShell } from '../shell/render-shell.ts';

/** Facts that a page may show in addition to its route's answer. */
export interface Scene {
  config: MarketConfig;
  events: EventTail;
  /** The maintainer's handle, or null before one registers. */
  maintainer: string | null;
  /** Time rounded down to steps, so that a cached page stays valid within a step. */
  nowMs: number;
}

export interface Shown {
  title: string;
  /** HTML inside the main element. */
  main: string;
  /** Path of the header link to mark as current. */
  path?: string;
  /** HTML of the head. */
  head?: string;
  scripts?: readonly string[];
  /** Paths of stylesheets in addition to the shell's own. */
  styles?: readonly string[];
}

/** Reads data that no single route returns. The result becomes the JSON answer. */
export type PageRead = (queryable: Queryable) => Promise<unknown>;

/** A page before its data is read: what to request, and how to render the answer. */
export interface PagePlan {
  /** Pattern of the page's path. */
  route: string;
  /** Normalized address, which is the key in the cache. */
  key: string;
  /** Version of the data that is not in the route's answer. */
  version?: string;
  /** Route that returns the data, tried in memory first; or a function that reads the data from the database. */
  request: InternalRequest | PageRead;
  /** True if the page's script fetches from this market. */
  connects?: true;
  /** Content type and renderer of a page that is not HTML. */
  document?: { type: string; write(answer: string, scene: Scene): string };
  show(answer: string, scene: Scene): Shown;
  /** Renders HTML with which the user can correct a refused request. */
  again?(problem: Problem): string;
  /** Paths of stylesheets in addition to the shell's own. */
  styles?: readonly string[];
  /** Link shown with a refusal. */
  back: { path: string; name: string };
}

export function writePage(plan: PagePlan, answer: string, scene: Scene): string {
  return plan.document?.write(answer, scene) ?? renderShell(plan.show(answer, scene));
}
