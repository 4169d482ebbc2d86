import { errnoOf } from '../errors.ts';

/** Whether a process with this id exists, even if another user owns it. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}
