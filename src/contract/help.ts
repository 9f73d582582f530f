import { z } from 'zod';
import { endpoint } from './endpoint.ts';

export const getHelp = endpoint({
  name: 'getHelp',
  method: 'GET',
  path: '/api/help',
  summary: 'How to buy, sell and get a key here, step by step.',
  auth: 'audit',
  query: z.strictObject({}),
  answers: {
    200: z.object({
      summary: z.string(),
      topics: z.array(z.object({ name: z.string(), title: z.string(), steps: z.array(z.string()) })),
      documents: z.record(z.string(), z.string()).describe('addresses of what says more'),
    }),
  },
  errors: [],
  cache: 'public',
});
