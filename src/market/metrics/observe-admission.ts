import { Counter, Gauge, type Registry } from 'prom-client';

/** What the server lets in, and what it turns away or cuts. */
export interface AdmissionFacts {
  placesTaken: number;
  socketsOpen: number;
  /** By rule. */
  rules: Readonly<Record<string, number>>;
}

export function observeAdmission(registry: Registry, read: () => AdmissionFacts): void {
  const registers = [registry];
  const gauge = (name: string, help: string, pick: (facts: AdmissionFacts) => number): void => {
    registry.removeSingleMetric(name);
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(pick(read()));
      },
    });
  };
  gauge('openaisle_http_places_taken', 'Requests in flight', ({ placesTaken }) => placesTaken);
  gauge('openaisle_http_sockets_open', 'Sockets that are no event streams', ({ socketsOpen }) => socketsOpen);
  const name = 'openaisle_http_turned_away_total';
  registry.removeSingleMetric(name);
  new Counter({
    name,
    help: 'Requests refused for load, and sockets closed or cut, by rule',
    labelNames: ['rule'] as const,
    registers,
    collect() {
      this.reset();
      for (const [rule, count] of Object.entries(read().rules)) this.inc({ rule }, count);
    },
  });
}
