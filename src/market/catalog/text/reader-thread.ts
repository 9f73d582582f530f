import { answerQuestions } from '../../../platform/worker-thread.ts';
import { createTextReader } from './text-reader.ts';

answerQuestions(createTextReader());
