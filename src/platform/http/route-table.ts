import type { EndpointShape } from '../../contract/endpoint.ts';
import type { Reason } from '../../contract/errors.ts';
import type { AnyPageRoute } from './server-options.ts';

/** Facts about a route that hooks and error answers need. */
export interface RouteFacts {
  /**
   * True if scripts of any origin may read the route. Such routes never take cookies, so a script cannot act as the person whose browser
   * runs it.
   */
  cors: boolean;
  payment: boolean;
  /** True if the client reports a payment that it has already made. */
  claim: boolean;
  unlimited: boolean;
  /** Sent with every answer. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Sent with the answer to OPTIONS. */
  optionsHeaders?: Readonly<Record<string, string>> | undefined;
  /** Reasons of this endpoint, in addition to those of every route. */
  errors: readonly Reason[];
}

export function factsOfEndpoint(endpoint: EndpointShape): RouteFacts {
  const open = endpoint.auth === 'audit' || endpoint.auth === 'public' || endpoint.auth === 'optional_key';
  const payment = endpoint.payment === true;
  const claim = endpoint.claim === true;
  return { cors: open || payment, payment, claim, unlimited: false, errors: endpoint.errors };
}

/** For pages and extra routes. */
export function factsOfPage({ ownOrigin, unlimited }: Pick<AnyPageRoute, 'ownOrigin' | 'unlimited'>): RouteFacts {
  return { cors: ownOrigin !== true, payment: false, claim: false, unlimited: unlimited === true, errors: [] };
}

export interface AllowedMethod extends RouteFacts {
  method: string;
}

/** Returns the methods of a path, for 405 and OPTIONS. Empty if the path does not exist. */
export function createRouteTable(
  routes: readonly { path: string; methods: readonly string[]; facts: RouteFacts }[],
): (path: string) => AllowedMethod[] {
  const entries = routes.map((route) => ({ ...route, steps: route.path.split('/') }));
  return (path) => {
    const steps = path.split('/');
    return entries
      .filter((route) => matchesPath(route.steps, steps))
      .flatMap((route) => route.methods.map((method) => ({ ...route.facts, method })));
  };
}

function matchesPath(pattern: readonly string[], steps: readonly string[]): boolean {
  return (
    pattern.length === steps.length &&
    pattern.every((step, at) => (step.startsWith(':') ? steps[at] !== '' : step === steps[at]))
  );
}
