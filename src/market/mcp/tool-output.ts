import { z } from 'zod';
import type { Endpoints } from '../../contract/index.ts';
import type { JsonSchema } from '../../contract/json-schemas.ts';
import { UNTRUSTED } from '../../contract/text-flags.ts';
import type { Tool } from '../../contract/tools.ts';

/** A refusal, by what it is known by: clients of the first SDK hold a refusal against the same schema as a result. */
const PROBLEM: JsonSchema = {
  type: 'object',
  properties: {
    reason: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    next_step: { type: 'string' },
    retry: { type: 'string' },
    do_not_pay_again: { type: 'boolean' },
  },
  required: ['reason', 'status', 'next_step'],
};
/** In place of the long warning, which `_meta` gives once for the whole result. */
const TEXT_OF_A_MERCHANT = 'text of a merchant';
/** The front door is a page and has no schema of its own. */
const FRONT_DOOR: JsonSchema = { type: 'object', required: ['name', 'summary', 'endpoints'] };

/** What a tool answers: the answers of its endpoints, or a refusal. */
export function toolOutput(endpoints: Endpoints, { asks }: Pick<Tool, 'asks'>): JsonSchema {
  const answers = asks === 'front_door' ? [FRONT_DOOR] : asks.flatMap((form) => answersOf(endpoints, form.endpoint));
  const $defs = Object.assign({}, ...answers.map((answer) => answer['$defs'] ?? {})) as Record<string, unknown>;
  const forms = [...new Set(answers.map(({ $defs: _, ...answer }) => JSON.stringify(answer)))];
  return {
    type: 'object',
    anyOf: [...forms.map((form) => JSON.parse(form) as JsonSchema), PROBLEM],
    ...(Object.keys($defs).length > 0 ? { $defs } : {}),
  };
}

/** Whether what merchants wrote can stand in an answer. */
export function holdsMerchantText(endpoints: Endpoints, { asks }: Pick<Tool, 'asks'>): boolean {
  if (asks === 'front_door') return false;
  return asks.some((form) => JSON.stringify(answersOf(endpoints, form.endpoint)).includes(TEXT_OF_A_MERCHANT));
}

function answersOf(endpoints: Endpoints, name: keyof Endpoints): JsonSchema[] {
  return Object.values(endpoints[name].answers).map((schema: z.ZodType) => {
    const { $schema: _, ...made } = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as JsonSchema;
    const { required } = made;
    return { ...(opened(made) as JsonSchema), ...(required === undefined ? {} : { required }) };
  });
}

/** What a reader needs and no more: hosts may show it to a model. Forms, bounds and what is always there stay in the OpenAPI document. */
const LEFT_OUT = new Set([
  ...['additionalProperties', 'required', 'pattern', 'format', 'minimum', 'maximum', 'exclusiveMinimum'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'propertyNames', 'id'],
]);

function opened(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((one) => opened(one));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([keyword]) => isNames || !LEFT_OUT.has(keyword));
  return Object.fromEntries(kept.map(([keyword, given]) => [keyword, openedMember(keyword, given, isNames)]));
}

function openedMember(keyword: string, given: unknown, isNames: boolean): unknown {
  if (keyword === 'description' && !isNames && given === UNTRUSTED) return TEXT_OF_A_MERCHANT;
  return opened(given, !isNames && (keyword === 'properties' || keyword === '$defs'));
}
