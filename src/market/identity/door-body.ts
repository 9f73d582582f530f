import type { BodyOf, Endpoints } from '../../contract/index.ts';

type Doors = 'register' | 'rotate' | 'recovery';
type Bodies<Door extends Doors> = BodyOf<Endpoints[Door]>;

/** What one step of a door is called with. */
export type DoorBody<Door extends Doors, Action extends Bodies<Door>['action']> = Extract<
  Bodies<Door>,
  { action: Action }
>;
