import './quiet-zod.ts';
import { readDeal } from './deal.ts';
import { startFlow } from './flow/start-flow.ts';

const root = document.getElementById('flow');
const told = root?.dataset['deal'];
if (root !== null && told !== undefined) void startFlow(root, readDeal(told));
