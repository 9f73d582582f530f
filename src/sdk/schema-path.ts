import type { z } from 'zod';
import { type OwnWords, ofSource, own } from '../contract/own-words.ts';

/** Describes a path in an answer by the schema's own names. Stops before a name that the server chose, because it could be any text. */
export function describePath(schema: z.core.$ZodType | undefined, path: readonly PropertyKey[]): OwnWords {
  const names: string[] = [];
  let at = schema;
  for (const name of path) {
    at = memberOf(at, name);
    if (at === undefined) break;
    names.push(String(name));
  }
  return names.length === 0 ? own`the whole` : ofSource(names.join('.'));
}

function memberOf(schema: z.core.$ZodType | undefined, name: PropertyKey): z.core.$ZodType | undefined {
  // Schemas of kinds not handled below have no named members, so the path ends there.
  const def = schema?._zod.def as z.core.$ZodTypes['_zod']['def'] | undefined;
  switch (def?.type) {
    case 'object':
      return Object.hasOwn(def.shape, name) ? def.shape[String(name)] : undefined;
    case 'array':
      return typeof name === 'number' ? def.element : undefined;
    case 'nullable':
    case 'optional':
    case 'default':
      return memberOf(def.innerType, name);
    case 'lazy':
      return memberOf(def.getter(), name);
    default:
      return undefined;
  }
}
