import type { z } from 'zod';

type Path = readonly PropertyKey[];
type Def = z.core.$ZodTypes['_zod']['def'];

/**
 * Parses an untrusted value, or returns the path of its first fault. Zod alone collects every fault of every element: for a million empty
 * objects that takes seconds and gigabytes, and no deadline stops it. So lists and records are checked first, up to their first fault.
 */
export function readAs<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { data: z.output<Schema> } | { faultAt: Path } {
  const faultAt = listFault(schema, value);
  if (faultAt !== null) return { faultAt };
  const parsed = schema.safeParse(value);
  return parsed.success ? { data: parsed.data } : { faultAt: parsed.error.issues[0]?.path ?? [] };
}

/** Returns the first fault in any list or record. If null, zod can report the rest cheaply, at most one fault per schema member. */
function listFault(schema: z.core.$ZodType, value: unknown): Path | null {
  if (typeof value !== 'object' || value === null) return null;
  const def = schema._zod.def as Def;
  switch (def.type) {
    case 'object':
      return firstOf(Object.keys(def.shape), (name) => {
        const member = def.shape[name];
        return member === undefined ? null : listFault(member, ownMember(value, name));
      });
    case 'array':
      return Array.isArray(value) ? firstOf(value.keys(), (index) => elementFault(def.element, value[index])) : null;
    case 'record':
      return firstOf(
        Object.keys(value),
        (name) => elementFault(def.keyType, name) ?? elementFault(def.valueType, ownMember(value, name)),
      );
    case 'union':
      // Check the lists of every option, because zod may try each. No two options have different lists under the same name.
      return def.options.reduce<Path | null>((first, option) => first ?? listFault(option, value), null);
    case 'nullable':
    case 'optional':
    case 'default':
    case 'readonly':
      return listFault(def.innerType, value);
    case 'pipe':
      return listFault(def.in, value);
    default:
      return null;
  }
}

function ownMember(value: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

function firstOf<Name extends PropertyKey>(names: Iterable<Name>, find: (name: Name) => Path | null): Path | null {
  for (const name of names) {
    const path = find(name);
    if (path !== null) return [name, ...path];
  }
  return null;
}

/** Returns the first fault of an element. Checks its lists first. */
function elementFault(schema: z.core.$ZodType, value: unknown): Path | null {
  const within = listFault(schema, value);
  if (within !== null) return within;
  const read = schema._zod.run({ value, issues: [] }, { async: false });
  if (read instanceof Promise) throw new TypeError('a schema of answers must not wait');
  return read.issues.length === 0 ? null : (read.issues[0]?.path ?? []);
}
