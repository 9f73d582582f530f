import { answerQuestions } from '../../../platform/answer-questions.ts';
import { createTextReader } from './read-elsewhere.ts';

answerQuestions(createTextReader());
