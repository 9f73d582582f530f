import type { Incoming, Outgoing } from './incoming.ts';
import type { Inside } from './mount.ts';
import type { Route } from './route.ts';
import type { Endpoints, Face, ServerOptions } from './server-options.ts';

/**
 * The routes as they are mounted, with the faces that some endpoints have for people. Whoever asks from inside the server gets what
 * the endpoint itself answers.
 */
export function showFaces<E extends Endpoints, Context, Caller>(
  routes: readonly Route<Caller>[],
  { endpoints, faces }: Pick<ServerOptions<E, Context, Caller>, 'endpoints' | 'faces'>,
  inside: Inside<Caller>,
): readonly Route<Caller>[] {
  const byRoute = new Map<string, Face | undefined>(
    Object.entries<Face | undefined>(faces?.(inside) ?? {}).map(([name, face]) => {
      const endpoint = endpoints[name];
      if (endpoint?.method !== 'GET') throw new TypeError(`only what is read has a face, and ${name} is not`);
      return [`GET ${endpoint.path}`, face] as const;
    }),
  );
  return routes.map((route) => {
    const face = byRoute.get(`${route.methods[0]} ${route.path}`);
    return face === undefined ? route : { ...route, answer: (incoming) => answerWith(route, face, incoming) };
  });
}

async function answerWith<Caller>(route: Route<Caller>, face: Face, incoming: Incoming): Promise<Outgoing> {
  const { headers, ...rest } = (await face(incoming)) ?? (await route.answer(incoming));
  const varies = headers['vary'];
  return { ...rest, headers: { ...headers, vary: varies === undefined ? 'accept' : `accept, ${String(varies)}` } };
}
