import type { z } from 'zod';
import type { EndpointShape } from '../../contract/endpoint.ts';
import { endpoints } from '../../contract/index.ts';
import type { Tool } from '../../contract/tools.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** Drops nulls, which hosts send for omitted arguments. Turns an empty text into null where the route takes null to clear a value. */
export function readArguments({ asks }: Pick<Tool, 'asks'>, args: Arguments): Arguments {
  const forms = asks === 'front_door' ? [] : asks;
  const nullable = new Set(forms.flatMap(({ endpoint }) => nullableFields(endpoints[endpoint])));
  const entries = Object.entries(withoutNulls(args) as Arguments);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, value === '' && nullable.has(name) ? null : value] as const),
  );
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(kept.map(([name, one]) => [name, withoutNulls(one)]));
}

function nullableFields({ body }: EndpointShape): string[] {
  if (body === undefined || !('shape' in body)) return [];
  const fields = Object.entries(body.shape as Record<string, z.ZodType>);
  return fields.filter(([, field]) => field.safeParse(null).success).map(([name]) => name);
}
