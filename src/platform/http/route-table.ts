import type { EndpointShape } from '../../contract/endpoint.ts';
import type { Reason } from '../../contract/errors.ts';
import type { AnyPageRoute } from './server-options.ts';

/** What hooks and error answers have to know about a route. */
export interface RouteFacts {
  /** Read by scripts of any origin. No such route ever takes cookies, so this gives away nothing that a key does not. */
  cors: boolean;
  payment: boolean;
  /** The client says that money was sent. */
  claim: boolean;
  unlimited: boolean;
  /** What the endpoint may refuse with beyond what every route may. */
  errors: readonly Reason[];
}

export function factsOfEndpoint(endpoint: EndpointShape): RouteFacts {
  const open = endpoint.auth === 'audit' || endpoint.auth === 'public' || endpoint.auth === 'optional_key';
  const payment = endpoint.payment === true;
  const claim = endpoint.claim === true;
  return { cors: open || payment, payment, claim, unlimited: false, errors: endpoint.errors };
}

/** Of pages and extra routes. */
export function factsOfPage({ ownOrigin, unlimited }: Pick<AnyPageRoute, 'ownOrigin' | 'unlimited'>): RouteFacts {
  return { cors: ownOrigin !== true, payment: false, claim: false, unlimited: unlimited === true, errors: [] };
}

export interface AllowedMethod extends RouteFacts {
  method: string;
}

/** Which methods an address takes, for 405 and OPTIONS; none: there is nothing at that address. */
export function createRouteTable(
  routes: readonly { path: string; methods: readonly string[]; facts: RouteFacts }[],
): (path: string) => AllowedMethod[] {
  const known = routes.map((route) => ({ ...route, steps: route.path.split('/') }));
  return (path) => {
    const steps = path.split('/');
    return known
      .filter((route) => fits(route.steps, steps))
      .flatMap((route) => route.methods.map((method) => ({ ...route.facts, method })));
  };
}

function fits(pattern: readonly string[], steps: readonly string[]): boolean {
  return (
    pattern.length === steps.length &&
    pattern.every((step, at) => (step.startsWith(':') ? steps[at] !== '' : step === steps[at]))
  );
}
