import type { z } from 'zod';
import type { Auth, EndpointShape } from './endpoint.ts';
import { createSchemaPool, type JsonSchema, type SchemaPool } from './json-schemas.ts';
import type { Network } from './networks.ts';
import { ANSWER_HEADERS, describeResponses, type Examples, problemSchema } from './openapi-answers.ts';
import { PAYMENT_HEADERS, paymentParameters, signingOn, X402_SCHEMAS } from './openapi-payments.ts';
import { withDescriptions } from './tool-arguments.ts';
import { API_VERSION, BODY_LIMIT_BYTES } from './vocabulary.ts';

/** Describes an operation beyond its summary. */
export interface OperationText {
  tag: string;
  /** Description: when to call it and what to know first. The document adds who may call it. */
  says: string;
  /** Names what the id in the path identifies, such as `a listing`, if the parameter's name does not say so. */
  id?: string;
}

/** An example request body, and an example answer for each status. */
export interface OperationExample {
  request?: unknown;
  answers: Examples;
}

export interface OpenApiOptions<Name extends string = string> {
  endpoints: Readonly<Record<Name, EndpointShape>>;
  /** Descriptions by endpoint name. */
  texts: Readonly<Record<Name, OperationText>>;
  /** Descriptions of the tags, in display order. */
  tags: Readonly<Record<string, string>>;
  examples?: Readonly<Partial<Record<Name, OperationExample>>>;
  title: string;
  description: string;
  /** Address of this instance. */
  serverUrl: string;
  /** Describes what a key looks like and how to get one. */
  key: string;
  /** Network of the payments. */
  network: Network;
}

/** An OpenAPI 3.1 document. */
export type OpenApi = JsonSchema & { paths: Record<string, Record<string, JsonSchema>> };

/** Generates the OpenAPI document from the endpoint descriptors and their texts. */
export function describeOpenApi<Name extends string>(options: OpenApiOptions<Name>): OpenApi {
  const pool = createSchemaPool();
  const paths: OpenApi['paths'] = {};
  const endpoints = Object.entries(options.endpoints) as [Name, EndpointShape][];
  const pathOf = pathsOf(endpoints.map(([, { path }]) => path));
  for (const [name, endpoint] of endpoints) {
    const { path, names } = pathOf(endpoint.path);
    const about = { text: options.texts[name], example: options.examples?.[name], names };
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: describeEndpoint(endpoint, about, pool) };
  }
  const paid = endpoints.some(([, { payment }]) => payment === true);
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      description: options.description,
      version: API_VERSION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: options.title, url: options.serverUrl },
    },
    servers: [{ url: options.serverUrl, description: 'This instance.' }],
    tags: Object.entries(options.tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: { ...pool.components(), ...(paid ? X402_SCHEMAS : {}), Problem: problemSchema() },
      securitySchemes: {
        merchantKey: {
          type: 'http',
          scheme: 'bearer',
          description: `Authorization: Bearer, and the key. ${options.key}`,
        },
      },
      headers: { ...ANSWER_HEADERS, ...(paid ? PAYMENT_HEADERS : {}) },
    },
    ...(paid ? { 'x-openaisle-signing': signingOn(options.network) } : {}),
  };
}

/**
 * Returns the OpenAPI path for a route. Routes that differ only in a parameter's name share one path, whose parameter is called id. `names`
 * maps each parameter of the route to its name in that path.
 */
function pathsOf(routes: readonly string[]): (route: string) => { path: string; names: Map<string, string> } {
  const formOf = (route: string): string => route.replaceAll(/:[a-z_]+/g, ':');
  const parametersOf = (route: string): string[] => [...route.matchAll(/:([a-z_]+)/g)].map(([, name = '']) => name);
  return (route) => {
    const alike = routes.filter((other) => formOf(other) === formOf(route)).map(parametersOf);
    const names = parametersOf(route).map((name, at): [string, string] => [
      name,
      alike.every((others) => others[at] === name) ? name : 'id',
    ]);
    const called = new Map(names);
    return { path: route.replaceAll(/:([a-z_]+)/g, (_, name: string) => `{${called.get(name)}}`), names: called };
  };
}

const KEY = { merchantKey: [] };

function securityOf(auth: Auth): JsonSchema[] {
  if (auth === 'audit' || auth === 'public') return [];
  return auth === 'key' || auth === 'maintainer' ? [KEY] : [{}, KEY];
}

const CALLERS: Readonly<Record<Auth, string>> = {
  audit: 'Public; keys are ignored.',
  public: 'Public.',
  optional_key: 'A key is optional; with one, the call counts for that merchant.',
  staged_key: 'Authorization may carry a key that is not active yet.',
  key: 'Needs a key.',
  maintainer: 'Only for the maintainer.',
};

interface About {
  text: OperationText;
  example: OperationExample | undefined;
  /** Maps path parameters of the route to their names in the document. */
  names: ReadonlyMap<string, string>;
}

function describeEndpoint(endpoint: EndpointShape, { text, example, names }: About, pool: SchemaPool): JsonSchema {
  const { body } = endpoint;
  const request = example?.request === undefined ? {} : { example: example.request };
  const inPath = parametersOf(endpoint.name, endpoint.params, 'path', pool).map(({ name, ...rest }) => ({
    name: names.get(String(name)) ?? name,
    ...rest,
    description: describeParameter(String(name), text),
  }));
  return {
    operationId: endpoint.name,
    tags: [text.tag],
    summary: endpoint.summary,
    description: `${text.says} ${CALLERS[endpoint.auth]}`,
    security: securityOf(endpoint.auth),
    parameters: [
      ...inPath,
      ...parametersOf(endpoint.name, endpoint.query, 'query', pool),
      ...paymentParameters(endpoint),
    ],
    ...(body
      ? {
          requestBody: {
            description: `At most ${(endpoint.body_limit ?? BODY_LIMIT_BYTES).toLocaleString('en-US')} bytes.`,
            required: endpoint.body_optional !== true,
            content: { 'application/json': { schema: withDescriptions(endpoint.name, pool.sent(body)), ...request } },
          },
        }
      : {}),
    responses: describeResponses(endpoint, pool, example?.answers ?? {}),
  };
}

function parametersOf(
  endpoint: string,
  schema: z.ZodType | undefined,
  place: 'path' | 'query',
  pool: SchemaPool,
): JsonSchema[] {
  if (!schema) return [];
  const { properties, required } = withDescriptions(endpoint, pool.sent(schema)) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties ?? {}).map(([name, { description, ...field }]) => ({
    name,
    in: place,
    required: place === 'path' || required?.includes(name) === true,
    ...(place === 'query' ? { description } : {}),
    schema: field,
  }));
}

function describeParameter(name: string, { id }: OperationText): string {
  if (id !== undefined) return `The ${name === 'handle' ? 'handle' : 'id'} of ${id}.`;
  return name === 'handle' ? 'The handle.' : `The id of the ${name.replace(/_id$/, '')}.`;
}
