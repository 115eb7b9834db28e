"""How far FGSM alone moves the two views of a sentence apart, MoCoSE's reason for it (D18, D19)."""

from core.study.study import Axis, FigureSpec, Metric, Row, study
from studies.mocose._models import STANDARD

STRENGTHS = ("1e-9", "5e-9", "1e-8", "5e-8", "1e-4", "1e-3", "1e-2")  # Table 9's, and its controls

STUDY = study(
    name="views",
    order=10,
    title="FGSM and the two views",
    caption="How much FGSM lowers the cosine of the two views of a sentence, by its strength",
    method="mocose",
    base=STANDARD,
    rows=Axis(
        "epsilon",
        "FGSM ε",
        {epsilon: Row({"fgsm.epsilon": float(epsilon)}) for epsilon in STRENGTHS},
    ),
    metric=Metric(
        task="train", title="Distance of the views", quantity="view_cosine_loss", checkpoint="last"
    ),
    figure=FigureSpec(x="epsilon"),
    footnotes="""
        - The paper's reason for FGSM's gain is that it slightly enhances the difference between the
          two samples (Section 5.3), which it does not measure. Here: mean cosine of the views
          without FGSM minus that with it, dropout off. The runs are Table 9's.
        - Under repaired and released both views are perturbed alike, so that the distance is none
          by construction (D18).
    """,
)
