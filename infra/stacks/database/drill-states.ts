export interface DrillResources {
  readonly plan: string;
  /** The name of the instance that the restored cluster gets. */
  readonly instance: string;
  readonly capacityMax: number;
  readonly checkFunction: string;
  /** What the function gets, beside the cluster and its secret. */
  readonly checks: object;
  readonly topic: string;
}

const service = (action: string) => `arn:aws:states:::aws-sdk:${action}`;
const cluster = "{% $split($job.CreatedResourceArn, ':')[-1] %}";
const hoursMax = 6;

/** What may fail while the cluster or its instance is not ready. */
const retryForAnHour = [{ ErrorEquals: ["States.TaskFailed"], IntervalSeconds: 60, BackoffRate: 1, MaxAttempts: 60 }];
const retryForFiveMinutes = [{ ...retryForAnHour[0], MaxAttempts: 5 }];

/** Whatever fails, the instance goes: AWS Backup cannot delete a cluster that has one, and does not try again. */
const orTidy = [
  {
    ErrorEquals: ["States.ALL"],
    Assign: { problems: ["{% $states.errorOutput.Error & ': ' & $states.errorOutput.Cause %}"] },
    Next: "DeleteInstance",
  },
];

/**
 * The drill, in Amazon States Language. AWS Backup restores the cluster, without an instance, and deletes it when it has
 * the result; this waits for the one, and does what is between.
 */
export const drillStates = ({ plan, instance, capacityMax, checkFunction, checks, topic }: DrillResources) => ({
  QueryLanguage: "JSONata",
  TimeoutSeconds: hoursMax * 3_600,
  StartAt: "FindRestore",
  States: {
    FindRestore: {
      Type: "Task",
      Resource: service("backup:listRestoreJobs"),
      Arguments: {
        ByRestoreTestingPlanArn: plan,
        // Both schedules begin at the same time, this one perhaps a moment later.
        ByCreatedAfter: "{% $fromMillis($toMillis($states.context.Execution.StartTime) - 3600000) %}",
      },
      Assign: { job: "{% $count($states.result.RestoreJobs) > 0 ? $states.result.RestoreJobs[0] : {} %}" },
      Next: "IsRestored",
    },
    IsRestored: {
      Type: "Choice",
      Choices: [
        { Condition: "{% $job.Status = 'COMPLETED' %}", Next: "AdoptCluster" },
        { Condition: "{% $job.Status in ['FAILED', 'ABORTED'] %}", Next: "NotRestored" },
      ],
      Default: "WaitForRestore",
    },
    WaitForRestore: { Type: "Wait", Seconds: 300, Next: "FindRestore" },
    NotRestored: {
      Type: "Fail",
      Error: "NotRestored",
      Cause: "{% 'AWS Backup did not restore the copy. ' & $job.StatusMessage %}",
    },
    AdoptCluster: {
      Type: "Task",
      Resource: service("rds:modifyDBCluster"),
      Arguments: {
        DbClusterIdentifier: cluster,
        ServerlessV2ScalingConfiguration: { MinCapacity: 0.5, MaxCapacity: capacityMax },
        // The password in the copy may be older than the live cluster's secret.
        ManageMasterUserPassword: true,
        ApplyImmediately: true,
      },
      Retry: retryForAnHour,
      Catch: orTidy,
      Next: "CreateInstance",
    },
    CreateInstance: {
      Type: "Task",
      Resource: service("rds:createDBInstance"),
      Arguments: {
        DbInstanceIdentifier: instance,
        DbClusterIdentifier: cluster,
        DbInstanceClass: "db.serverless",
        Engine: "aurora-postgresql",
      },
      Retry: retryForAnHour,
      Catch: orTidy,
      Next: "WaitForInstance",
    },
    WaitForInstance: { Type: "Wait", Seconds: 60, Next: "FindInstance" },
    FindInstance: {
      Type: "Task",
      Resource: service("rds:describeDBInstances"),
      Arguments: { DbInstanceIdentifier: instance },
      Assign: { status: "{% $states.result.DbInstances[0].DbInstanceStatus %}" },
      Retry: retryForFiveMinutes,
      Catch: orTidy,
      Next: "IsAvailable",
    },
    IsAvailable: {
      Type: "Choice",
      Choices: [{ Condition: "{% $status = 'available' %}", Next: "EnableDataApi" }],
      Default: "WaitForInstance",
    },
    EnableDataApi: {
      Type: "Task",
      Resource: service("rds:enableHttpEndpoint"),
      Arguments: { ResourceArn: "{% $job.CreatedResourceArn %}" },
      Retry: retryForAnHour,
      Catch: orTidy,
      Next: "FindSecret",
    },
    FindSecret: {
      Type: "Task",
      Resource: service("rds:describeDBClusters"),
      Arguments: { DbClusterIdentifier: cluster },
      Assign: { secret: "{% $states.result.DbClusters[0].MasterUserSecret.SecretArn %}" },
      Retry: retryForFiveMinutes,
      Catch: orTidy,
      Next: "Check",
    },
    Check: {
      Type: "Task",
      Resource: "arn:aws:states:::lambda:invoke",
      Arguments: {
        FunctionName: checkFunction,
        Payload: { ...checks, cluster: "{% $job.CreatedResourceArn %}", secret: "{% $secret %}" },
      },
      // The Data API says that it is enabled before it is.
      Retry: retryForFiveMinutes,
      Catch: orTidy,
      Assign: { problems: "{% [$states.result.Payload.problems] %}" },
      Next: "DeleteInstance",
    },
    DeleteInstance: {
      Type: "Task",
      Resource: service("rds:deleteDBInstance"),
      Arguments: { DbInstanceIdentifier: instance, SkipFinalSnapshot: true },
      Retry: [
        {
          ...retryForAnHour[0],
          ErrorEquals: ["Rds.InvalidDbInstanceStateException", "Rds.InvalidDbClusterStateException"],
        },
      ],
      Catch: [{ ErrorEquals: ["Rds.DbInstanceNotFoundException"], Next: "Report" }],
      Next: "WaitForDeletion",
    },
    WaitForDeletion: { Type: "Wait", Seconds: 60, Next: "IsDeleted" },
    IsDeleted: {
      Type: "Task",
      Resource: service("rds:describeDBInstances"),
      Arguments: { DbInstanceIdentifier: instance },
      Catch: [{ ErrorEquals: ["Rds.DbInstanceNotFoundException"], Next: "Report" }],
      Next: "WaitForDeletion",
    },
    Report: {
      Type: "Task",
      Resource: service("backup:putRestoreValidationResult"),
      Arguments: {
        RestoreJobId: "{% $job.RestoreJobId %}",
        ValidationStatus: "{% $count($problems) = 0 ? 'SUCCESSFUL' : 'FAILED' %}",
        ValidationStatusMessage:
          "{% $count($problems) = 0 ? 'Nothing is wrong' : $substring($join($problems, '; '), 0, 1000) %}",
      },
      Next: "Judge",
    },
    Judge: {
      Type: "Choice",
      Choices: [{ Condition: "{% $count($problems) = 0 %}", Next: "Mail" }],
      Default: "CopyIsWrong",
    },
    CopyIsWrong: { Type: "Fail", Error: "CopyIsWrong", Cause: "{% $join($problems, '; ') %}" },
    Mail: {
      Type: "Task",
      Resource: "arn:aws:states:::sns:publish",
      Arguments: {
        TopicArn: topic,
        Subject: "Colophon: last night's backup can be restored",
        Message:
          "{% 'The drill restored it, and found nothing wrong with it. The cluster took ' & $round(($toMillis($job.CompletionDate) - $toMillis($job.CreationDate)) / 60000) & ' minutes; with an instance, the checks and the removal it was ' & $round(($millis() - $toMillis($job.CreationDate)) / 60000) & '.' %}",
      },
      End: true,
    },
  },
});
