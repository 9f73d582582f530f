import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { idParam } from '../paging.ts';
import { publicText } from '../text.ts';
import { thingOut } from '../world-records.ts';

export const makeThing = endpoint({
  name: 'makeThing',
  method: 'POST',
  path: '/api/thing',
  summary: 'Make a thing. It is unique, and the caller’s.',
  auth: 'key',
  body: z.strictObject({ name: publicText(3, 80) }),
  answers: { 201: z.object({ thing: thingOut }) },
  errors: ['rate_limited'],
  cache: 'private',
});

export const giveThing = endpoint({
  name: 'giveThing',
  method: 'POST',
  path: '/api/thing/:id/give',
  summary: 'Give an own thing away, for nothing. Not while it is under offer.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({ to: z.string().min(1).max(64) }),
  answers: { 200: z.object({ thing: thingOut }) },
  errors: ['not_found', 'not_thing_owner', 'thing_locked'],
  cache: 'private',
});

export const getThing = endpoint({
  name: 'getThing',
  method: 'GET',
  path: '/api/thing/:id',
  summary: 'One thing, who owns it and who did.',
  auth: 'audit',
  params: idParam,
  answers: { 200: z.object({ thing: thingOut }) },
  errors: ['not_found'],
  cache: 'public',
});
