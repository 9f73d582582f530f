import type { PageAnswer } from '../../../platform/http/server-options.ts';
import type { MarketConfig } from '../../context.ts';
import { list, text } from '../../guide/document.ts';
import { answerDocument } from '../answer-document.ts';
import type { Ceremony } from './ceremony.ts';

type Door = Pick<Ceremony, 'path' | 'door' | 'words'>;

/** Where programs send their requests: the page itself is for a browser and a person. */
const ROUTES: Readonly<Record<Ceremony['path'], string>> = {
  '/join': '/api/register',
  '/rotate': '/api/rotate',
  '/recovery': '/api/recovery',
};

/** A door for people as a program reads it: what it is for, and the route behind it. There is nothing of a ceremony in it. */
export function describeDoor(
  config: MarketConfig,
  { path, door, words }: Door,
  accept: string | undefined,
): PageAnswer {
  const isOpen = config.openDoors.has(door);
  const route = ROUTES[path];
  const answer = answerDocument(accept, {
    path,
    document: {
      title: words.title,
      summary: words.lead,
      blocks: [
        text(isOpen ? 'This door is open.' : 'This door is closed for now.'),
        list([
          `For a person, in a browser: [${config.baseUrl}${path}](${path}).`,
          `For a program, in two steps: \`POST ${route}\`, as [/openapi.json](/openapi.json) says. Key and codes are shown once.`,
        ]),
      ],
    },
    json: {
      title: words.title,
      summary: words.lead,
      open: isOpen,
      page: `${config.baseUrl}${path}`,
      route: `POST ${route}`,
    },
  });
  return { ...answer, headers: { ...answer.headers, vary: 'accept' } };
}
