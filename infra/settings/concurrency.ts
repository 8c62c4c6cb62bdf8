import { type Declaration, isNavigation, isPublicRecord } from "../../lib/contract/declare.ts";
import { endpoints } from "../../lib/contract/endpoints.ts";
import { routedEndpoints } from "../api/document.ts";
import { isWhole } from "../api/whole-lists.ts";
import type { StageSettings } from "./schema.ts";

/** The reserved concurrency of an endpoint's function, if it has one: visitors leave room for the panel. */
export function concurrencyOf(declaration: Declaration, stage: StageSettings): number | null {
  if (isWhole(declaration)) return stage.streams.concurrent && stage.streams.wholeConcurrent;
  if ("list" in declaration.response) return stage.streams.concurrent;
  if (isPublicRecord(declaration)) return stage.publicRecords.concurrent;
  // An image may take seconds.
  if (declaration.needsFileService) return stage.uploads ? stage.images.concurrent : null;
  // The provider decides how long it takes, and strangers how often it is asked.
  return isNavigation(declaration) ? (stage.signIn?.concurrent ?? null) : null;
}

/**
 * The reserved concurrency of `ops-invalidate`, if there is an edge: for one run, for those that find it at work and end
 * at once, and for operators. None in an account that has too little for what visitors read.
 */
export const invalidationsAtOnce = ({ edge, publicRecords }: StageSettings): number | null =>
  edge && publicRecords.concurrent !== null ? 5 : null;

/** The reserved concurrency of all functions of these stages. */
export const reservedConcurrency = (stages: readonly StageSettings[]): number =>
  stages
    .flatMap((stage) => [
      invalidationsAtOnce(stage),
      ...routedEndpoints(endpoints, stage).map((each) => concurrencyOf(each, stage)),
    ])
    .reduce<number>((sum, each) => sum + (each ?? 0), 0);
