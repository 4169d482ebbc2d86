import { HostError } from '../errors.ts';
import type { Paths } from '../paths/paths.ts';
import {
  checkState,
  councilPlaces,
  type StatePlaces,
  workspacePlaces
} from './state-guard.ts';

/** Whether the state of a workspace, and of its council, may be used. */
export class Safety {
  readonly #workspace: StatePlaces;
  readonly #council: StatePlaces;
  readonly #onProblem: (problem: unknown) => void;
  #told = '';

  /** @param onProblem told once of each thing that is wrong */
  constructor(
    paths: Paths,
    councilFile: string,
    onProblem: (problem: unknown) => void
  ) {
    this.#workspace = workspacePlaces(paths);
    this.#council = councilPlaces(councilFile, paths.workspace);
    this.#onProblem = onProblem;
  }

  /**
   * Before anything is read or written for somebody.
   * @throws HostError `state_unsafe`
   */
  check(withCouncil = false): void {
    checkState(this.#workspace);
    if (withCouncil) checkState(this.#council);
  }

  /** Before something is done that nobody waits for. */
  holds(withCouncil = false): boolean {
    try {
      this.check(withCouncil);
      return true;
    } catch (problem) {
      if (!(problem instanceof HostError)) throw problem;
      const words = `${problem.message} ${problem.hint}`;
      if (words !== this.#told) this.#onProblem(words);
      this.#told = words;
      return false;
    }
  }
}
