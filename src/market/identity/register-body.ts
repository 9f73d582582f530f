import type { BodyOf, Endpoints } from '../../contract/index.ts';

type Bodies = BodyOf<Endpoints['register']>;

/** What one step of the register door is called with. */
export type RegisterBody<Action extends Bodies['action']> = Extract<Bodies, { action: Action }>;
