import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import type { BodyOf } from '../../contract/endpoint.ts';

type Body = BodyOf<CityEndpoints['registerResident']>;

/** What one step of the door is called with. */
export type StepBody<Action extends Body['action']> = Extract<Body, { action: Action }>;
